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
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

// The dual-stack policy whose cost is measured: pods of the subject on this chassis, and peers elsewhere.
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
			app := "many"
			if i == 1 {
				app = "one"
			}
			fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: p%d, labels: {app: %s}}
spec: {nodeName: %s, containers: [{name: c}]}
status: {phase: Running, podIP: %s, podIPs: [{ip: %s}, {ip: "%s"}]}
`, ns, i, app, node, a, a, b6)
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

	flows := func(spec string) int {
		put(t, dir, "policy.yaml", fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: local, name: measured}
spec: {podSelector: {}, %s}
`, spec))
		mustApply(t, dir, lab.NBUnix(), "--force") // every pod leaves one isolation for another
		chassis.SyncHV()
		return chassis.Flows()
	}
	bare := chassis.Flows()
	t.Cleanup(func() { require.Empty(t, lab.Complaints(), "OVN cannot read what was written") })
	isolated := map[string]int{} // what isolation alone costs, counted and estimated, by direction
	expected := map[string]int{}
	for _, direction := range []string{"Ingress", "Egress"} {
		isolated[direction] = flows(fmt.Sprintf("policyTypes: [%s]", direction))
		expected[direction] = requireEstimate(t, dir, lab.NBUnix(), "n1", isolated[direction]-bare)
	}
	for _, tc := range shapes() {
		t.Run(tc.name, func(t *testing.T) {
			with := flows(fmt.Sprintf("policyTypes: [%s], %s: %s", tc.direction(), strings.ToLower(tc.direction()), tc.rules))
			rules := with - isolated[tc.direction()]
			t.Logf("%d flows, with isolation %d", rules, with-bare)
			if tc.most > 0 && rules > tc.most {
				t.Log(lab.NBCtl("--format=table", "--columns=direction,priority,match,action,options", "list", "ACL"))
				require.LessOrEqual(t, rules, tc.most)
			}
			require.Positive(t, rules)
			estimate := requireEstimate(t, dir, lab.NBUnix(), "n1", with-bare)
			require.InEpsilon(t, rules, estimate-expected[tc.direction()], 0.15, "the rules alone, without what isolation costs")
		})
	}
}

// shape is rules whose cost is measured.
type shape struct {
	name  string
	rules string
	to    bool // of egress
	most  int  // flows beside those of isolation; 0 is any number
}

func (s *shape) direction() string {
	if s.to {
		return "Egress"
	}
	return "Ingress"
}

func shapes() []shape {
	const remote = `{namespaceSelector: {matchLabels: {team: remote}}}`
	return []shape{
		{name: "a selector of 100 dual-stack peers and a port", rules: `[{from: [` + remote + `], ports: [{port: 80}]}]`, most: 500},
		{name: "that selector and three ports", rules: `[{from: [` + remote + `], ports: [{port: 80}, {port: 443}, {port: 8080}]}]`, most: 510},
		{name: "that selector and a range", rules: `[{from: [` + remote + `], ports: [{port: 1000, endPort: 2000}]}]`},
		{name: "that selector and two protocols", rules: `[{from: [` + remote + `], ports: [{port: 53}, {port: 53, protocol: UDP}]}]`},
		{name: "that selector and any port", rules: `[{from: [` + remote + `]}]`},
		{name: "one peer and a port", rules: `[{from: [{namespaceSelector: {matchLabels: {team: remote}}, podSelector: {matchLabels: {app: one}}}], ports: [{port: 80}]}]`},
		{name: "two peers in a rule", rules: `[{from: [` + remote + `, {podSelector: {}}], ports: [{port: 80}]}]`},
		{name: "two rules with a peer each", rules: `[{from: [` + remote + `], ports: [{port: 80}]}, {from: [{podSelector: {}}], ports: [{port: 81}]}]`},
		{
			name:  "ranges and ports beside each other",
			rules: `[{from: [{podSelector: {}}], ports: [{port: 80}, {port: 8000, endPort: 8100}]}, {ports: [{port: 53, protocol: UDP}, {port: 54, protocol: UDP}]}]`, most: 700,
		},
		{name: "any source", rules: `[{}]`},
		{name: "any source and a port", rules: `[{ports: [{port: 80}]}]`},
		{name: "a block", rules: `[{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]`},
		{name: "a block without parts of it", rules: `[{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.96.0.0/12, 10.1.2.0/24]}}], ports: [{port: 80}]}]`},
		{name: "a block of IPv6 without a part of it", rules: `[{from: [{ipBlock: {cidr: "fd00::/8", except: ["fd00:10:1::/48"]}}], ports: [{port: 80}]}]`},
		{name: "the internet without private networks", rules: `[{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]}}]}]`, most: 110},
		{name: "egress to a selector and a port", rules: `[{to: [` + remote + `], ports: [{port: 80}]}]`, to: true, most: 500},
		{name: "egress to any DNS server", rules: `[{ports: [{port: 53, protocol: UDP}, {port: 53}]}]`, to: true},
		{name: "egress to the internet and three ports", rules: `[{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]}}], ports: [{port: 80}, {port: 443}, {port: 8443}]}]`, to: true},
	}
}

// requireEstimate compares what netloom expects the policies of dir to cost a node with a count.
func requireEstimate(t *testing.T, dir, nb, node string, counted int, flags ...string) (estimate int) {
	t.Helper()
	args := append([]string{"plan", "-f", dir, "--ovn-nb", nb, "-o", "json"}, flags...)
	out, err := exec.CommandContext(t.Context(), binary(t), args...).Output()
	require.NoError(t, err)
	var report struct {
		Cost struct {
			Flows map[string]int `json:"flows"`
		} `json:"cost"`
	}
	require.NoError(t, json.Unmarshal(out, &report))
	t.Logf("estimate: %d flows, counted: %d", report.Cost.Flows[node], counted)
	require.InEpsilon(t, counted, report.Cost.Flows[node], 0.15)
	return report.Cost.Flows[node]
}

// TestExampleCost counts what the policies of the examples cost each of their nodes: without the services of the examples,
// and beside them, which have a cost of their own that is no part of the estimate.
func TestExampleCost(t *testing.T) {
	dir := gather(t, "../../examples/shop", "../../examples/monitoring")
	nodes, err := os.ReadFile("../../examples/nodes.yaml")
	require.NoError(t, err)
	put(t, dir, "nodes.yaml", string(nodes))
	cluster := load(t, dir)
	bare := withoutPolicies(t, cluster)
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
			count := func(dir string, flags ...string) int {
				mustApply(t, dir, lab.NBUnix(), append(flags, "--force")...)
				chassis.SyncHV()
				return chassis.Flows()
			}
			nothing := chassis.Flows()
			requireEstimate(t, dir, lab.NBUnix(), node.Name, count(dir, "--services=false")-nothing, "--services=false")
			services := count(bare)
			t.Logf("services alone: %d flows", services-nothing)
			requireEstimate(t, dir, lab.NBUnix(), node.Name, count(dir)-services)
		})
	}
}

// withoutPolicies is a directory with the manifests of a cluster, except its policies.
func withoutPolicies(t *testing.T, c *oracle.Cluster) string {
	t.Helper()
	bare := *c
	bare.Policies = nil
	text, err := policygen.YAML(&bare)
	require.NoError(t, err)
	dir := t.TempDir()
	put(t, dir, "cluster.yaml", string(text))
	return dir
}
