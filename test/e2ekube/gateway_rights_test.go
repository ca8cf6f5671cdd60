//go:build e2e

package e2ekube_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

const (
	gatewayUser  = "system:serviceaccount:" + home + ":netloom-gateway"
	upstreamUser = "system:serviceaccount:" + home + ":" + upstreamAccount
)

// installedGateway is the gateway as the chart installs it, in a cluster whose API server it serves.
type installedGateway struct {
	*gatewayRig
	kube *kubelab.Lab
	pod  *kubelab.Pod
	web  string // a token of a pod, which has everything that is known about a credential

	users int // that were impersonated
}

// gatewayRoles are the roles of the gateway: in the host cluster, in a cluster that it serves, for shared watches there, and for the Lease of
// the instance that writes what instances may see differently.
var gatewayRoles = []string{"netloom-gateway", upstreamAccount, "netloom-gateway-shared-watches", "netloom-gateway-status"}

// TestGatewayRights runs the gateway as the chart installs it, in a cluster that it also serves. The kustomizations give the same
// rights. Each is used, or without it the requests that need it fail. The rights for shared watches only save the API server
// work: without them requests are forwarded.
func TestGatewayRights(t *testing.T) {
	t.Parallel()
	objects := helm(t, home, map[string]any{"gateway-shared-watches": true, "gateway-shutdown-delay": "0s", "gateway-shutdown-spread": "0s"}, map[string]any{
		"mode": "none", "gateway": map[string]any{"enabled": true}, "upstream": map[string]any{"enabled": true, "sharedWatches": true},
	})
	require.ElementsMatch(t, slices.Concat(rightsOf(t, gatewayOverlay(t)), rightsOf(t, upstreamObjects(t))), rightsOf(t, objects))
	host, upstream, shared := rightsOfRole(t, objects, gatewayRoles[0]), rightsOfRole(t, objects, gatewayRoles[1]), rightsOfRole(t, objects, gatewayRoles[2])
	status := rightsOfRole(t, objects, gatewayRoles[3])
	require.Len(t, shared, 2*len(watchcache.Resources()))
	g := installGateway(t, objects)

	for _, r := range upstream {
		require.NoError(t, g.needs(r))
	}
	g.listAll()
	g.awaitUsed(gatewayUser, slices.Concat(host, status))
	g.awaitUsed(upstreamUser, shared)
	for _, user := range []string{gatewayUser, upstreamUser} {
		for _, r := range g.kube.Audit(user) {
			require.False(t, r.Forbidden, "forbidden: %+v", r)
		}
	}
	for _, r := range upstream {
		giveBack := without(t, g.kube, upstreamUser, r)
		var err error
		await.True(t, func() bool {
			err = g.needs(r)
			return err != nil
		}, "a request fails without %+v", r)
		if r.verb == "impersonate" {
			require.True(t, apierrors.IsForbidden(err), "%+v: %v", r, err)
		} else {
			require.True(t, apierrors.IsServiceUnavailable(err), "%+v: %v", r, err)
		}
		giveBack()
		await.True(t, func() bool { return g.needs(r) == nil }, "%+v is back", r)
	}
	t.Run("shared watches", func(t *testing.T) { testRightsOfSharedWatches(t, g, shared) })
	t.Run("the Lease for the status", func(t *testing.T) { testRightsOfStatus(t, g, status) })
	t.Run("UpstreamClusters", func(t *testing.T) { testRightsInHostCluster(t, g, host) })
	t.Run("health checks", func(t *testing.T) { testRightOfHealthChecks(t, g, objects) })
}

// installGateway applies objects of the gateway, and describes the cluster itself as the one that it serves. What the API server
// allows every user, so that some rights are only needed without it, it no longer does.
func installGateway(t *testing.T, objects []*unstructured.Unstructured) *installedGateway {
	t.Helper()
	kube := startKube(t, "WatchList=false")
	kube.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: controllers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:discovery}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: system:kube-controller-manager}]
`)
	for _, name := range []string{"system:discovery", "system:public-info-viewer"} {
		require.NoError(t, kube.Client().RbacV1().ClusterRoleBindings().Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	(&world{t: t, kube: kube}).defineClusterPolicies()
	definition, err := os.ReadFile(root + "/deploy/crds/proxy.kubegateway.io_upstreamclusters.yaml")
	require.NoError(t, err)
	kube.Apply(string(definition))
	await.True(t, func() bool {
		_, err := upstreamClusters(kube).List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has UpstreamClusters")
	kube.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + home + `}}`)
	kube.ApplyObjects(objects)
	config := kube.Config()
	files := filepath.Dir(config.CAFile)
	secret := map[string]string{}
	for _, name := range []string{"ca.crt", "server.crt", "server.key"} {
		raw, err := os.ReadFile(filepath.Join(files, name))
		require.NoError(t, err)
		secret[name] = base64.StdEncoding.EncodeToString(raw)
	}
	kube.Apply(`
{apiVersion: v1, kind: Secret, metadata: {namespace: ` + home + `, name: netloom-gateway-tls}, data: {tls.crt: ` + secret["server.crt"] + `, tls.key: ` + secret["server.key"] + `}}
---
apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: a.example}
spec:
  servers: [{endpoint: "` + config.Host + `"}]
  clientConfig: {bearerToken: ` + base64.StdEncoding.EncodeToString([]byte(kube.Token(home, upstreamAccount))) + `, caData: ` + secret["ca.crt"] + `, qps: 1000}
  secureServing: {clientCAData: ` + secret["ca.crt"] + `}
  dispatchPolicies: [` + everyRequest + `]
`)
	g := &installedGateway{gatewayRig: &gatewayRig{t: t, labs: map[string]*kubelab.Lab{"a.example": kube}}, kube: kube, web: podToken(t, kube)}
	listen := ovnlab.FreeAddress(t)
	_, port, err := net.SplitHostPort(listen)
	require.NoError(t, err)
	g.port, err = strconv.Atoi(port)
	require.NoError(t, err)
	for _, r := range rightsOf(t, objects) {
		user := upstreamUser
		if slices.Contains([]string{gatewayRoles[0], gatewayRoles[3], quotaRole, credentialsRole}, r.role) {
			user = gatewayUser
		}
		await.True(t, func() bool { return may(t, kube, user, r) }, "the server knows %+v", r)
	}
	g.pod = run(t, kube, home, "netloom-gateway", "NETLOOM_GATEWAY_LISTEN="+listen)
	g.awaitServed()
	require.True(t, g.pod.Alive())
	return g
}

// podToken is a token that belongs to a pod on a node.
func podToken(t *testing.T, kube *kubelab.Lab) string {
	t.Helper()
	kube.Apply(nodes + `
{apiVersion: v1, kind: Namespace, metadata: {name: gateway}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: gateway}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: gateway}
spec: {serviceAccountName: web, nodeName: node-a, containers: [{name: web, image: web}]}
`)
	pod, err := kube.Client().CoreV1().Pods("gateway").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return boundToken(t, kube, pod)
}

func boundToken(t *testing.T, kube *kubelab.Lab, pod *corev1.Pod) string {
	t.Helper()
	got, err := kube.Client().CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return got.Status.Token
}

// awaitServed waits until the gateway is ready, and serves the cluster.
func (g *installedGateway) awaitServed() {
	g.t.Helper()
	g.pod.AwaitReady()
	await.True(g.t, func() bool {
		g.pod.Running()
		return reviewed(g.t, g.client("a.example", nil)) == nil
	}, "the cluster is served")
}

// restart runs the gateway again, without memory of what it served.
func (g *installedGateway) restart() {
	g.t.Helper()
	g.pod.Kill()
	g.pod.Restart()
}

// needs sends a request through the gateway that needs a right in the cluster.
func (g *installedGateway) needs(r right) error {
	g.t.Helper()
	change := func(*rest.Config) {}
	switch r.resource {
	case "users", "groups": // of the administrator's certificate
	case "tokenreviews": // nobody has asked about this token yet
		change = withToken(g.kube.Token("gateway", "web"))
	case "subjectaccessreviews": // nor about this user
		g.users++
		change = func(c *rest.Config) { c.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprint("user-", g.users)} }
	default:
		change = withToken(g.web)
	}
	return reviewed(g.t, g.client("a.example", change))
}

// reviewed asks the API server through the gateway who is asking, once.
func reviewed(t *testing.T, client kubernetes.Interface) error {
	t.Helper()
	return client.CoreV1().RESTClient().Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").MaxRetries(0).
		Body(&authenticationv1.SelfSubjectReview{}).Do(t.Context()).Error()
}

func upstreamClusters(kube *kubelab.Lab) dynamic.ResourceInterface {
	return kube.Objects().Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster))
}

// awaitUsed waits until a user has used rights.
func (g *installedGateway) awaitUsed(user string, rights []right) {
	g.t.Helper()
	await.True(g.t, func() bool { return len(unused(g.kube, user, rights)) == 0 }, "%s", user+" uses every right")
}

// awaitMissed waits until a user has asked in vain for what rights would allow.
func (g *installedGateway) awaitMissed(user string, rights ...right) {
	g.t.Helper()
	await.True(g.t, func() bool { return len(missing(g.kube, user, rights)) == 0 }, "%s", user+" asks in vain for every right")
}

// listAll lists every kind with shared watches, in a way that the gateway can answer.
func (g *installedGateway) listAll() {
	g.t.Helper()
	client := g.client("a.example", nil).CoreV1().RESTClient()
	for _, r := range watchcache.Resources() {
		path := "/apis/" + r.Group
		if r.Group == "" {
			path = "/api"
		}
		_, err := client.Get().AbsPath(path, r.Version, r.Resource).Param("resourceVersion", "0").DoRaw(g.t.Context())
		require.NoError(g.t, err, r.Resource)
	}
}

// testRightsOfSharedWatches takes the rights to list away, and then those to watch: clients notice nothing.
func testRightsOfSharedWatches(t *testing.T, g *installedGateway, shared []right) {
	for _, verb := range []string{"list", "watch"} {
		rights := slices.DeleteFunc(slices.Clone(shared), func(r right) bool { return r.verb != verb })
		require.Len(t, rights, len(watchcache.Resources()))
		giveBack := without(t, g.kube, upstreamUser, rights...)
		g.restart()
		g.awaitServed()
		g.listAll()
		g.awaitMissed(upstreamUser, rights...)
		g.listAll()
		giveBack()
	}
}

// testRightsInHostCluster takes the rights to UpstreamClusters away: what was served is still served.
func testRightsInHostCluster(t *testing.T, g *installedGateway, host []right) {
	for _, r := range host {
		giveBack := without(t, g.kube, gatewayUser, r)
		changed, err := upstreamClusters(g.kube).Patch(t.Context(), "a.example", types.MergePatchType, // its status is to be written
			[]byte(`{"spec":{"clientConfig":{"qps":`+strconv.Itoa(1000+g.users)+`}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		g.users++
		if r.verb != "update" {
			g.restart()
		}
		g.awaitMissed(gatewayUser, r)
		if r.verb == "list" {
			require.False(t, g.pod.Ready(), "no cluster is known")
		} else {
			g.awaitServed()
		}
		if r.verb == "watch" {
			await.True(t, func() bool { return g.readiness() == "ok\n"+unreadable }, "the missing right shows in readiness")
		}
		giveBack()
		g.awaitServed()
		await.True(t, func() bool { return g.readiness() == "ok\n" }, "UpstreamClusters are read")
		await.True(t, func() bool {
			for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady, v1alpha1.ConditionCredentialsCurrent} {
				if c := g.condition(kind); c["status"] != "True" || c["observedGeneration"] != changed.GetGeneration() {
					return false
				}
			}
			return true
		}, "the status is written")
	}
}

// condition is a condition of the cluster; nil if it has none.
func (g *installedGateway) condition(kind string) map[string]any {
	g.t.Helper()
	now, err := upstreamClusters(g.kube).Get(g.t.Context(), "a.example", metav1.GetOptions{})
	require.NoError(g.t, err)
	conditions, _, err := unstructured.NestedSlice(now.Object, "status", "conditions")
	require.NoError(g.t, err)
	for _, each := range conditions {
		if c, ok := each.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// testRightsOfStatus takes the rights to the Lease away: the cluster is served, and nobody writes whether it is ready.
func testRightsOfStatus(t *testing.T, g *installedGateway, status []right) {
	for _, r := range status {
		g.pod.Kill()
		if r.verb == "create" {
			require.NoError(t, g.kube.Client().CoordinationV1().Leases(home).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		}
		giveBack := without(t, g.kube, gatewayUser, r)
		g.pod.Restart()
		g.awaitServed()
		g.awaitMissed(gatewayUser, r)
		text, err := g.pod.Get("/metrics")
		require.NoError(t, err)
		require.InDelta(t, 0, sample(text, "netloom_gateway_reports_status"), 0)
		giveBack()
		await.True(t, func() bool {
			text, err := g.pod.Get("/metrics")
			return err == nil && sample(text, "netloom_gateway_reports_status") == 1
		}, "this instance writes the status")
	}
}

const unreadable = "UpstreamClusters cannot be read; their last versions are served\n"

// readiness is what the gateway says of its readiness; "" if it is not ready.
func (g *installedGateway) readiness() string {
	text, err := g.pod.Get("/readyz")
	if err != nil {
		return ""
	}
	return text
}

// testRightOfHealthChecks takes the right to ask for /readyz away.
func testRightOfHealthChecks(t *testing.T, g *installedGateway, objects []*unstructured.Unstructured) {
	asked := func(forbidden bool) bool {
		return slices.ContainsFunc(g.kube.Audit(upstreamUser), func(q kubelab.Request) bool {
			return q.Path == "/readyz" && q.Verb == "get" && q.Forbidden == forbidden && (forbidden || q.GrantedBy == upstreamAccount)
		})
	}
	require.True(t, asked(false))
	require.False(t, asked(true))
	roles := g.kube.Client().RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), upstreamAccount, metav1.GetOptions{})
	require.NoError(t, err)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.NonResourceURLs) > 0 })
	_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
	require.NoError(t, err)
	await.True(t, func() bool {
		review, err := g.kube.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: upstreamUser, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/readyz", Verb: "get"},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		return !review.Status.Allowed
	}, "the server knows that the right is gone")
	g.restart() // a gateway that knew the API server would try again before it calls it not ready
	await.True(t, func() bool { return asked(true) }, "a health check is refused")
	g.pod.AwaitReady()
	err = reviewed(t, g.client("a.example", nil))
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	g.kube.ApplyObjects(objects)
	g.awaitServed()
}
