//go:build e2e

package e2ekube_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/deployment"
)

// Roles of the gateway that not everybody needs: for limits of all instances, for Secrets with credentials, and for its own tokens in a cluster
// that it serves.
const (
	quotaRole       = "netloom-gateway-quota"
	credentialsRole = "netloom-gateway-credentials"
	tokenRole       = "netloom-gateway-upstream-token"
)

// optionalObjects are these roles in the kustomizations. Secrets have names of one's own, so that only the chart has a role for them.
func optionalObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, o := range gatewayOverlay(t, "gateway-quota", "upstream-token") {
		if slices.Contains([]string{quotaRole, tokenRole}, o.GetName()) {
			all = append(all, o)
		}
	}
	require.NotNil(t, deployment.Find(all, "Role", quotaRole))
	require.NotNil(t, deployment.Find(all, "Role", tokenRole))
	return all
}

// TestGatewayOptionalRights runs the gateway with a limit of all instances, and with credentials in a Secret that it renews. It uses every
// right for that, and without one of them it asks in vain.
func TestGatewayOptionalRights(t *testing.T) {
	t.Parallel()
	objects := helm(t, home, map[string]any{"gateway-shutdown-delay": "0s", "gateway-shutdown-spread": "0s"}, map[string]any{
		"mode": "none", "upstream": map[string]any{"enabled": true, "tokenRequest": true},
		"gateway": map[string]any{"enabled": true, "quota": true, "secrets": []any{"prod"}},
	})
	quota, secrets, token := rightsOfRole(t, objects, quotaRole), rightsOfRole(t, objects, credentialsRole), rightsOfRole(t, objects, tokenRole)
	require.ElementsMatch(t, rightsOf(t, optionalObjects(t)), slices.Concat(quota, token), "the chart and the kustomizations give the same")
	g := installGateway(t, objects)
	g.refer()

	for _, r := range slices.Concat(quota, secrets, token) {
		user := gatewayUser
		if r.role == tokenRole {
			user = upstreamUser
		}
		g.lead(r)
		g.awaitUsed(user, []right{r})
		giveBack := without(t, g.kube, user, r)
		g.lead(r)
		g.awaitMissed(user, r)
		giveBack()
		if r.verb == "delete" {
			g.pod.Restart()
		}
		g.awaitServed()
	}
}

// refer has the cluster refer to a Secret, and share a limit.
func (g *installedGateway) refer() {
	g.t.Helper()
	g.age()
	_, err := upstreamClusters(g.kube).Patch(g.t.Context(), "a.example", types.MergePatchType, []byte(`{"spec":{
		"clientConfig":{"bearerToken":null,"credentials":{"secretName":"prod","tokenRequest":{"serviceAccount":{"namespace":"`+home+`","name":"`+upstreamAccount+`"}}}},
		"flowControl":{"flowControlSchemas":[{"name":"all","strategy":"globalAllocate","tokenBucket":{"qps":1000,"burst":1000},"globalTokenBucket":{"qps":1000,"burst":1000}}]},
		"dispatchPolicies":[{"flowControlSchemaName":"all","rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}`), metav1.PatchOptions{})
	require.NoError(g.t, err)
}

// age gives the gateway a token of its account that is to be renewed.
func (g *installedGateway) age() {
	g.t.Helper()
	token := g.kube.AgedToken(home, upstreamAccount, 2*time.Hour, time.Hour)
	g.kube.Apply(`{apiVersion: v1, kind: Secret, metadata: {namespace: ` + home + `, name: prod, annotations: {proxy.kubegateway.io/upstream-cluster: a.example}}, data: {token: ` +
		base64.StdEncoding.EncodeToString([]byte(token)) + `}}`)
}

// lead has the gateway do what a right is for.
func (g *installedGateway) lead(r right) {
	g.t.Helper()
	leases := g.kube.Client().CoordinationV1().Leases(home)
	switch {
	case r.verb == "delete": // its Lease, when it ends in order
		await.True(g.t, func() bool {
			text, err := g.pod.Get("/metrics")
			return err == nil && sample(text, "netloom_gateway_limits_divided") == 1
		}, "the gateway divides limits")
		g.pod.Stop()
		if may(g.t, g.kube, gatewayUser, r) {
			g.pod.Restart()
		}
		return
	case r.role == quotaRole: // its Lease is there
		await.True(g.t, func() bool {
			list, err := leases.List(g.t.Context(), metav1.ListOptions{})
			require.NoError(g.t, err)
			return slices.ContainsFunc(list.Items, func(l coordinationv1.Lease) bool { return strings.HasPrefix(l.Name, quotaRole) })
		}, "the gateway has a Lease")
	default:
		g.age()
	}
	g.restart()
}
