package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/webhook"
)

// TestNothingIsAskedWhileJudging checks that reviews are answered without a request to the API server.
func TestNothingIsAskedWhileJudging(t *testing.T) {
	const (
		workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: second, labels: {sdewanPurpose: cnf1}}}`
		policy   = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: default, name: p}, spec: {podSelector: {}, ingress: [{ports: [{port: web}]}]}}`
		role     = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: default, name: r, annotations: {sdewan-bucket-type-permission: '{}'}}}`
	)
	fed(t, deny(), func(t *testing.T, r *rig) {
		actions := func() int { return len(r.kube.Actions()) + len(r.meta.Actions()) + len(r.dynamic.Actions()) }
		for _, tc := range []struct{ path, resource, text string }{
			{webhook.PathBucket, "mwan3policies", policyText},
			{webhook.PathLabel, "mwan3policies", policyText},
			{webhook.PathWorkload, "deployments", workload},
			{webhook.PathObject, "mwan3rules", ruleText},
			{webhook.PathObject, "mwan3policies", policyText},
			{webhook.PathPolicy, "networkpolicies", policy},
			{webhook.PathRole, "roles", role},
		} {
			before := actions()
			for range 10 {
				r.verdict(t, tc.path, request(t, "bob", tc.resource, "", tc.text))
				r.verdict(t, tc.path, request(t, "bob", tc.resource, tc.text, tc.text))
				r.verdict(t, tc.path, request(t, "bob", tc.resource, tc.text, ""))
			}
			require.Equal(t, before, actions(), "%s asks the API server", tc.path)
		}
	})
}
