package answerstest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/world"
)

// Guarded is two pods, a NetworkPolicy for one of them, and a policy of each cluster-wide kind.
func Guarded(t testing.TB) world.State {
	t.Helper()
	objects := ObjectsOf(t, `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {}}], ports: [{port: 5432}]}]
`)
	return StateOf(t, append(objects, Cluster(t)...))
}

// Cluster is cluster-wide policies of both tiers about the pods of Guarded.
func Cluster(t testing.TB) []runtime.Object {
	t.Helper()
	admin, baseline := &v1alpha2.ClusterNetworkPolicy{}, &v1alpha2.ClusterNetworkPolicy{}
	older, last := &v1alpha1.AdminNetworkPolicy{}, &v1alpha1.BaselineAdminNetworkPolicy{}
	for _, o := range []struct {
		object any
		text   string
	}{
		{admin, `
metadata: {name: lockdown}
spec:
  tier: Admin
  priority: 20
  subject: {namespaces: {}}
  egress:
  - {name: no-ssh, action: Deny, to: [{networks: [0.0.0.0/0]}], protocols: [{tcp: {destinationPort: {number: 22}}}]}
  - {name: shop-decides, action: Pass, to: [{namespaces: {}}]}
  - {name: too-late, action: Accept, to: [{networks: [10.0.0.0/8]}], protocols: [{tcp: {destinationPort: {number: 22}}}]}
`},
		{baseline, `
metadata: {name: closed}
spec:
  tier: Baseline
  priority: 7
  subject: {namespaces: {}}
  ingress:
  - {name: inside, action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}}]}
`},
		{older, `
metadata: {name: older}
spec:
  priority: 20
  subject: {namespaces: {}}
  egress:
  - {name: ssh, action: Allow, to: [{networks: [10.0.0.0/8]}], ports: [{portNumber: {protocol: TCP, port: 22}}]}
`},
		{last, `
metadata: {name: default}
spec:
  subject: {namespaces: {}}
  ingress:
  - {action: Deny, from: [{namespaces: {}}], ports: [{portNumber: {protocol: TCP, port: 81}}]}
`},
	} {
		require.NoError(t, yaml.UnmarshalStrict([]byte(o.text), o.object))
	}
	return []runtime.Object{admin, baseline, older, last}
}
