//go:build e2e

package e2ekube_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreignKind defines policies of Cilium, and foreignWorld has one of them in one of two namespaces.
const (
	foreignKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ciliumnetworkpolicies.cilium.io}
spec:
  group: cilium.io
  scope: Namespaced
  names: {plural: ciliumnetworkpolicies, singular: ciliumnetworkpolicy, kind: CiliumNetworkPolicy, listKind: CiliumNetworkPolicyList}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	foreignWorld = `
apiVersion: v1
kind: Namespace
metadata: {name: monitoring}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: foreign-reader}
rules:
- apiGroups: [""]
  resources: [pods, namespaces, nodes, services, endpoints]
  verbs: [get, list, watch]
- apiGroups: [networking.k8s.io, discovery.k8s.io]
  resources: [networkpolicies, endpointslices]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: foreign-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: foreign-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: shop}]
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: grafana, namespace: monitoring}
spec: {containers: [{name: c, image: x}]}
`
	foreignAddresses = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
status: {phase: Running, podIP: 10.244.0.1, podIPs: [{ip: 10.244.0.1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop}
status: {phase: Running, podIP: 10.244.0.2, podIPs: [{ip: 10.244.0.2}]}
---
apiVersion: v1
kind: Pod
metadata: {name: grafana, namespace: monitoring}
status: {phase: Running, podIP: 10.244.0.3, podIPs: [{ip: 10.244.0.3}]}
`
	foreignPolicy = `
apiVersion: cilium.io/v2
kind: CiliumNetworkPolicy
metadata: {name: no-one, namespace: monitoring}
spec: {endpointSelector: {}, egressDeny: [{toEntities: [all]}]}
`
)

// TestKindsThatDecideElsewhere asks about a cluster with a policy of Cilium: answers about its namespace are not certain, and none is for a
// user who may not list the kind.
func TestKindsThatDecideElsewhere(t *testing.T) {
	t.Parallel()
	kube := startKube(t)
	kube.Apply(foreignWorld)
	kube.Status(foreignAddresses)
	program, err := buildOnce()
	require.NoError(t, err)
	probe := func(kubeconfig, what string, more ...string) (string, int) {
		command := exec.CommandContext(t.Context(), program, append([]string{"probe", "--kubeconfig", kubeconfig, what}, more...)...)
		command.Env = append(os.Environ(), "KUBECONFIG=")
		out, err := command.CombinedOutput()
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			require.NoError(t, err, string(out))
		}
		return string(out), command.ProcessState.ExitCode()
	}
	admin, reader := kube.Kubeconfig(), kube.TokenKubeconfig("reader", kube.Token("shop", "reader"))
	const concerned, elsewhere = "monitoring/grafana->shop/db:80", "shop/web->shop/db:80"
	for _, who := range []string{admin, reader} {
		out, code := probe(who, concerned)
		require.Equal(t, 0, code, out)
	}

	kube.Apply(foreignKind)
	kube.Apply(foreignPolicy)
	out, code := probe(admin, concerned)
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "ignored, although they decide on connections: 1 CiliumNetworkPolicy")
	out, code = probe(admin, elsewhere)
	require.Equal(t, 0, code, out)
	out, code = probe(reader, elsewhere)
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "may decide on connections, and could not be listed: CiliumNetworkPolicy (cilium.io)")
	out, code = probe(reader, elsewhere, "--ignore", "CiliumNetworkPolicy")
	require.Equal(t, 0, code, out)
}
