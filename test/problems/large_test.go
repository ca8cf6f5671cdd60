package problems_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// large writes manifests of objects that are valid, and too large for some target.
func large(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: a}, spec: {nodeName: node-a}, status: {phase: Running, podIPs: [{ip: 172.16.0.2}]}}
---
apiVersion: v1
kind: Pod
metadata:
  name: cnf
  namespace: edge
  labels: {sdewanPurpose: branch}
  annotations: {k8s.plugin.opnfv.org/nfn-network: '{"interface": [{"name": "office", "interface": "net0"}]}'}
spec: {nodeName: node-a}
status: {phase: Running, podIPs: [{ip: 172.16.0.3}]}
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: FirewallZone
metadata: {name: office, namespace: edge, labels: {sdewanPurpose: branch}}
spec: {network: [office], input: ACCEPT, output: ACCEPT, forward: ACCEPT}
---
`)
	var excepts, blocks, rules []string
	for i := range 1150 { // each leaves about 14 prefixes of the block
		n := i * 14_699 % (1 << 24)
		excepts = append(excepts, fmt.Sprintf("10.%d.%d.%d/32", n>>16, n>>8&255, n&255))
	}
	fmt.Fprintf(&b, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: scattered, namespace: a}, "+
		"spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [%s]}}]}]}}\n---\n", strings.Join(excepts, ", "))
	for i := range 2100 {
		blocks = append(blocks, fmt.Sprintf("{ipBlock: {cidr: 10.%d.%d.0/28}}", i/256, i%256))
	}
	fmt.Fprintf(&b, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: long, namespace: edge, labels: {sdewanPurpose: branch}}, "+
		"spec: {podSelector: {}, ingress: [{from: [%s]}]}}\n---\n", strings.Join(blocks, ", "))
	for range 25 {
		rules = append(rules, "{action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}}]}")
	}
	for i := range 170 {
		fmt.Fprintf(&b, "{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: many-%d}, "+
			"spec: {tier: Admin, priority: %d, subject: {namespaces: {}}, ingress: [%s]}}\n---\n", i, i, strings.Join(rules, ", "))
	}
	var endpoints []string
	for i := range 600 {
		endpoints = append(endpoints, fmt.Sprintf("{addresses: [172.17.%d.%d]}", i/250, 1+i%250))
	}
	b.WriteString("{apiVersion: v1, kind: Service, metadata: {name: crowded, namespace: a}, " +
		"spec: {clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ports: [{port: 80, protocol: TCP}]}}\n---\n")
	fmt.Fprintf(&b, "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: crowded, namespace: a, "+
		"labels: {kubernetes.io/service-name: crowded}}, addressType: IPv4, ports: [{port: 8080, protocol: TCP}], endpoints: [%s]}\n---\n",
		strings.Join(endpoints, ", "))
	var passes, allows []string
	for i := range 25 {
		passes = append(passes, fmt.Sprintf("{action: Pass, from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: p%d}}}}]}", i))
	}
	for i := range 100 {
		allows = append(allows, fmt.Sprintf("{from: [{namespaceSelector: {}}], ports: [{port: %d}]}", 1+2*i))
	}
	fmt.Fprintf(&b, "{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: passes}, "+
		"spec: {tier: Admin, priority: 500, subject: {namespaces: {}}, ingress: [%s, {action: Deny, from: [{namespaces: {}}]}]}}\n---\n", strings.Join(passes[1:], ", "))
	fmt.Fprintf(&b, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: passed, namespace: a}, "+
		"spec: {podSelector: {}, ingress: [%s]}}\n", strings.Join(allows, ", "))
	path := filepath.Join(t.TempDir(), "large.yaml")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}
