//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// The dual-stack policy whose cost is measured: so many pods of the subject on this chassis, so many peers elsewhere.
const (
	subjects = 20
	peers    = 100
)

// crowd is the manifests of the subject and its peers, and their logical ports.
func crowd(t *testing.T) (manifests string, ports []ovnlab.Port) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 172.18.0.1}, {type: InternalIP, address: "fc00:18::1"}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: local}
---
apiVersion: v1
kind: Namespace
metadata: {name: remote, labels: {team: remote}}
`)
	add := func(ns, node, prefix4, prefix6 string, n int) {
		for i := 1; i <= n; i++ {
			a, b6 := fmt.Sprintf("%s.%d", prefix4, i), fmt.Sprintf("%s::%x", prefix6, i)
			fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: p%d, labels: {app: %s}}
spec: {nodeName: %s, containers: [{name: c}]}
status: {phase: Running, podIP: %s, podIPs: [{ip: %s}, {ip: "%s"}]}
`, ns, i, ns, node, a, a, b6)
			ports = append(ports, ovnlab.Port{
				Name:  fmt.Sprintf("%s_p%d", ns, i),
				Addrs: []netip.Addr{netip.MustParseAddr(a), netip.MustParseAddr(b6)},
			})
		}
	}
	add("local", "n1", "10.244.1", "fd00:10:1", subjects)
	add("remote", "n2", "10.244.2", "fd00:10:2", peers)
	return b.String(), ports
}

// TestFlowCost counts the OpenFlow flows that a policy costs on the chassis of its subject.
func TestFlowCost(t *testing.T) {
	manifests, ports := crowd(t)
	n, err := ovnlab.NewNetwork(ports, nil)
	require.NoError(t, err)
	lab := ovnlab.Start(t)
	lab.Install(n)
	chassis := lab.StartChassis()
	var names []string
	for _, p := range ports[:subjects] {
		names = append(names, p.Name)
	}
	chassis.Bind(nil, names...)
	dir := t.TempDir()
	put(t, dir, "cluster.yaml", manifests)

	flows := func(ingress string) int {
		put(t, dir, "policy.yaml", fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: local, name: measured}
spec: {podSelector: {}, policyTypes: [Ingress], ingress: %s}
`, ingress))
		mustApply(t, dir, lab.NBUnix())
		chassis.SyncHV()
		return chassis.Flows()
	}
	bare := chassis.Flows()
	isolated := flows("[]")
	tests := []struct {
		name    string
		ingress string
		most    int
	}{
		{"a selector of 100 dual-stack peers and a port", `[{from: [{namespaceSelector: {matchLabels: {team: remote}}}], ports: [{port: 80}]}]`, 500},
		{"ranges and ports beside each other", `[{from: [{podSelector: {}}], ports: [{port: 80}, {port: 8000, endPort: 8100}]}, {ports: [{port: 53, protocol: UDP}, {port: 54, protocol: UDP}]}]`, 700},
		{"the internet without private networks", `[{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]}}]}]`, 110},
	}
	t.Cleanup(func() { require.Empty(t, lab.Complaints(), "OVN cannot read what was written") })
	t.Logf("isolation alone: %d flows", isolated-bare)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			with := flows(tc.ingress)
			t.Logf("%d flows, with isolation %d", with-isolated, with-bare)
			if with-isolated > tc.most {
				t.Log(lab.NBCtl("--format=table", "--columns=direction,priority,match,action,options", "list", "ACL"))
			}
			require.Greater(t, with, isolated)
			requireEstimate(t, dir, lab.NBUnix(), "n1", with-bare)
			require.LessOrEqual(t, with-isolated, tc.most)
		})
	}
}

// requireEstimate holds what netloom expects the policies of dir to cost a node against a count. The rows of services are
// left out on both sides.
func requireEstimate(t *testing.T, dir, nb, node string, counted int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t), "plan", "-f", dir, "--ovn-nb", nb, "--services=false", "-o", "json").Output()
	require.NoError(t, err)
	var report struct {
		Cost struct {
			Flows map[string]int `json:"flows"`
		} `json:"cost"`
	}
	require.NoError(t, json.Unmarshal(out, &report))
	t.Logf("estimate: %d flows, counted: %d", report.Cost.Flows[node], counted)
	require.InEpsilon(t, counted, report.Cost.Flows[node], 0.15)
}

// TestExampleCost counts what the policies of the examples cost each of their nodes.
func TestExampleCost(t *testing.T) {
	dir := gather(t, "../../examples/shop", "../../examples/monitoring")
	nodes, err := os.ReadFile("../../examples/nodes.yaml")
	require.NoError(t, err)
	put(t, dir, "nodes.yaml", string(nodes))
	cluster := load(t, dir)
	for _, node := range cluster.Nodes {
		t.Run(node.Name, func(t *testing.T) {
			lab := ovnlab.Start(t)
			lab.Install(network(t, cluster))
			chassis := lab.StartChassis()
			var names []string
			for _, p := range live(cluster) {
				if p.Spec.NodeName == node.Name {
					names = append(names, p.Namespace+"_"+p.Name)
				}
			}
			chassis.Bind(nil, names...)
			bare := chassis.Flows()
			mustApply(t, dir, lab.NBUnix(), "--services=false")
			chassis.SyncHV()
			requireEstimate(t, dir, lab.NBUnix(), node.Name, chassis.Flows()-bare)
		})
	}
}
