//go:build e2e

package e2ekube_test

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// permissions are the article's roles and those that ICN SD-EWAN ships, with users who are bound to them. Everyone but
// writer may write SD-WAN objects as far as RBAC goes.
const permissions = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: test, namespace: default}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: stranger, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writers}
rules:
- {apiGroups: [batch.sdewan.akraino.org], resources: ["*"], verbs: ["*"]}
- {apiGroups: [apps], resources: [deployments, statefulsets], verbs: ["*"]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writers}
subjects:
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: everybody}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:default"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: sdewan-test
  namespace: default
  annotations:
    sdewan-bucket-type-permission: |-
      { "mwan3rules": ["app-intent", "k8s-service"],
      "mwan3policies": ["app-intent"] }
rules: [{apiGroups: [batch.sdewan.akraino.org], resources: [mwan3rules], verbs: [create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: sdewan-test, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: sdewan-test}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: onap}
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: operators}
- {kind: ServiceAccount, name: test, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: default
  name: create-intent
  annotations:
    sdewan-bucket-type-permission: |-
      { "mwan3policies": ["app-intent"] }
rules: [{apiGroups: [batch.sdewan.akraino.org], resources: [mwan3policies], verbs: [get, watch, list, delete, create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: create-intent, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: create-intent}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: creator}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: writer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: default, name: wild, annotations: {sdewan-bucket-type-permission: '{"mwan3*": ["app-?ntent"]}'}}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: wild, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: wild}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: wild}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: allow-intent
  annotations:
    sdewan-bucket-type-permission: '{"mwan3rules": ["app-intent", "k8s-service"], "mwan3policies": ["*"], "firewall*": ["app-intent"]}'
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: allow-intent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: allow-intent}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: global}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: allow-intent, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: allow-intent}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: local}]
`

// kindOf is a kind of SD-WAN objects by its resource, with a spec that the server takes.
func kindOf(resource string) (kind string, spec map[string]any) {
	switch resource {
	case "mwan3policies":
		return "Mwan3Policy", map[string]any{"members": []any{map[string]any{"network": "ovn-net1", "metric": int64(1), "weight": int64(1)}}}
	case "mwan3rules":
		spec := map[string]any{"policy": "balance"}
		for _, key := range []string{"src_ip", "src_port", "dest_ip", "dest_port", "proto", "family", "sticky", "timeout"} {
			spec[key] = ""
		}
		return "Mwan3Rule", spec
	case "firewallzones":
		return "FirewallZone", map[string]any{"network": []any{"ovn-net1"}}
	case "firewallforwardings":
		return "FirewallForwarding", map[string]any{"src": "lan", "dest": "wan"}
	case "sdewanapplications":
		return "SdewanApplication", map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}
	case "networkfirewallrules":
		return "NetworkFirewallRule", map[string]any{"src": "net1", "target": "ACCEPT"}
	default:
		panic("no object of " + resource)
	}
}

// bucketed is an object in a bucket; "" is in none.
func bucketed(resource, namespace, name, bucket string) *unstructured.Unstructured {
	kind, spec := kindOf(resource)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch.sdewan.akraino.org/v1alpha1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
	if bucket != "" {
		o.SetLabels(map[string]string{"sdewan-bucket-type": bucket})
	}
	return o
}
