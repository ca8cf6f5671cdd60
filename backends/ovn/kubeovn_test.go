package ovn_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/translator"
)

// kubeOVNSchemas are those with and without tiers. kube-ovn has had tiers since OVN 23.06.
func kubeOVNSchemas() map[string][]byte {
	return map[string][]byte{"with tiers": schema.NB2503(), "without tiers": schema.NB2303()}
}

// networkPolicy reads the spec of a policy.
func networkPolicy(t testing.TB, namespace, name, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	p := &networkingv1.NetworkPolicy{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(fmt.Sprintf("metadata: {namespace: %s, name: %s}\nspec: %s", namespace, name, spec)), p))
	return p
}

// newKubeOVNCluster is two nodes and pods in every kind of subnet: the default one, a private one, one that lets its own pods pass and has a
// centralised gateway, an underlay, and two VPCs with the same addresses. Policies are in both namespaces.
func newKubeOVNCluster(t testing.TB, nb []byte) *kubeOVN {
	k := newKubeOVN(t, nb, translator.Options{})
	k.addNode(t, "n0", "192.168.77.10", "100.64.0.2", nil)
	k.addNode(t, "n1", "192.168.77.11", "100.64.0.3", nil)
	k.addNamespace(t, "shop", map[string]string{"team": "shop"})
	k.addNamespace(t, "pay", map[string]string{"team": "pay"})
	k.addVPC(t, "blue")
	k.addVPC(t, "green")
	for _, s := range []*subnet{
		{name: "safe", vpc: defaultVPC, cidr: "10.17.0.0/16", gateway: "10.17.0.1", private: true, allow: []string{"10.16.0.0/16"}},
		{name: "east", vpc: defaultVPC, cidr: "10.18.0.0/16", gateway: "10.18.0.1", eastWest: true, central: "100.64.0.2"},
		{name: "vlan20", vpc: defaultVPC, cidr: "172.20.0.0/16", gateway: "172.20.0.1", vlan: true},
		{name: "blue1", vpc: "blue", cidr: "192.168.0.0/24", gateway: "192.168.0.1"},
		{name: "green1", vpc: "green", cidr: "192.168.0.0/24", gateway: "192.168.0.1"},
	} {
		k.addSubnet(t, s)
	}
	for i, sw := range []struct{ name, net string }{
		{"ovn-default", "10.16.0."},
		{"safe", "10.17.0."},
		{"east", "10.18.0."},
		{"vlan20", "172.20.0."},
		{"blue1", "192.168.0."},
		{"green1", "192.168.0.10"},
	} {
		k.addPod(t, fmt.Sprintf("shop/web-%d", i), "web", sw.name, sw.net+"11"[i/5:], "n0")
		k.addPod(t, fmt.Sprintf("shop/db-%d", i), "db", sw.name, sw.net+"12"[i/5:], "n1")
		k.addPod(t, fmt.Sprintf("pay/api-%d", i), "api", sw.name, sw.net+"13"[i/5:], "n0")
	}
	k.putPolicy(t, networkPolicy(t, "shop", "closed", `{podSelector: {}, policyTypes: [Ingress]}`))
	k.putPolicy(t, networkPolicy(t, "shop", "db-from-web", `{podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [
		{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 5432, protocol: TCP}]}]}`))
	k.putPolicy(t, networkPolicy(t, "pay", "api-to-shop", `{podSelector: {}, policyTypes: [Egress], egress: [
		{to: [{namespaceSelector: {matchLabels: {team: shop}}, podSelector: {matchLabels: {app: db}}}], ports: [{port: 5432, protocol: TCP}]}]}`))
	return k
}

// probe is a connection between pods of one VPC, from or to the outside, or from a node to a pod.
type probe struct {
	flow   oracle.Flow
	packet nbtrace.Packet
}

func (p *probe) String() string {
	return fmt.Sprintf("%s(%s) -> %s(%s) tcp/%d", p.flow.Src.Pod, p.flow.Src.Addr, p.flow.Dst.Pod, p.flow.Dst.Addr, p.flow.Port)
}

// probes lists the connections that are judged.
func (k *kubeOVN) probes() []probe {
	outside := podPort{addr: netip.MustParseAddr("203.0.113.7")}
	var out []probe
	add := func(from string, src podPort, node, to string, dst podPort) {
		for _, port := range []uint16{80, 5432} {
			out = append(out, probe{
				oracle.Flow{
					Src: oracle.End{Pod: from, Addr: src.addr}, Dst: oracle.End{Pod: to, Addr: dst.addr}, Protocol: corev1.ProtocolTCP,
					Port: int32(port), Node: node,
				},
				nbtrace.Packet{Inport: src.port, Outport: dst.port, Src: src.addr, Dst: dst.addr, Protocol: 6, SrcPort: 40000, DstPort: port},
			})
		}
	}
	for _, a := range k.cluster.Pods {
		from := a.Namespace + "/" + a.Name
		add("", outside, "", from, k.pods[from])
		add(from, k.pods[from], "", "", outside)
		for _, n := range k.cluster.Nodes {
			node := podPort{port: "node-" + n.Name, addr: netip.MustParseAddr(n.Status.Addresses[0].Address)}
			if k.pods[from].vpc == defaultVPC {
				add("", node, n.Name, from, k.pods[from])
			}
		}
		for _, b := range k.cluster.Pods {
			if to := b.Namespace + "/" + b.Name; from != to && k.pods[from].vpc == k.pods[to].vpc {
				add(from, k.pods[from], "", to, k.pods[to])
			}
		}
	}
	return out
}

// judge compares the rows with the policies. It returns the connections that are open although policies deny them, those that are closed
// although they allow them, and how many are allowed.
func (k *kubeOVN) judge(t testing.TB) (open, closed []string, allowed int) {
	t.Helper()
	tracer, policies := k.tracer(t), k.cluster.Freeze()
	for _, p := range k.probes() {
		want, got := policies.Allowed(p.flow).Allowed, tracer.Trace(p.packet)
		switch {
		case got.Allowed && !want:
			open = append(open, p.String())
		case !got.Allowed && want:
			closed = append(closed, p.String())
		case want:
			require.True(t, tracer.RepliesPass(p.packet), "replies are dropped: %s", &p)
			allowed++
		}
	}
	return open, closed, allowed
}

// requireClosed fails the test if something is open that policies deny.
func (k *kubeOVN) requireClosed(t testing.TB, when string, n int) {
	t.Helper()
	open, _, _ := k.judge(t)
	require.Empty(t, open, "%s, transaction %d: open", when, n)
}

// requireExact fails the test unless every connection is as policies say, except that a private subnet is closed to the outside and to
// subnets that it does not name.
func (k *kubeOVN) requireExact(t testing.TB, when string) {
	t.Helper()
	open, closed, allowed := k.judge(t)
	require.Empty(t, open, "%s: open", when)
	require.Greater(t, allowed, 100, "%s: the probes show little", when)
	for _, c := range closed {
		require.Contains(t, c, "10.17.0.", "%s: closed", when)
	}
}

// TestSwitchFromKubeOVNAndBack follows docs/kube-ovn.md: netloom writes beside kube-ovn, which then gives up its policies, and takes them up
// again before netloom leaves. No committed state opens what policies deny.
func TestSwitchFromKubeOVNAndBack(t *testing.T) {
	for name, nb := range kubeOVNSchemas() {
		t.Run(name, func(t *testing.T) {
			k := newKubeOVNCluster(t, nb)
			if open, _, _ := k.judge(t); len(open) == 0 {
				require.Fail(t, "nothing is open without policies: the probes show little")
			}
			k.write(t, k.enforce(t), nil)
			k.requireExact(t, "kube-ovn alone")
			theirs := k.server.Dump("Load_Balancer", "Logical_Switch", "Logical_Router")

			plan := k.sync(t)
			require.Equal(t, 1, plan.Groups(), "more than one state to look at")
			require.Empty(t, plan.Skips)
			k.requireExact(t, "netloom beside kube-ovn")
			k.write(t, k.release(), func(n int) { k.requireClosed(t, "kube-ovn gives up its policies", n) })
			k.requireExact(t, "netloom alone")
			k.requireSettled(t, k.translator.Snapshot())

			k.write(t, k.enforce(t), func(n int) { k.requireClosed(t, "kube-ovn takes up its policies", n) })
			k.requireExact(t, "kube-ovn beside netloom")
			k.reached = 0
			require.Equal(t, 1, k.reconcile(t, translator.New(translator.Options{}).Snapshot()).Groups())
			k.requireExact(t, "kube-ovn alone again")
			require.NotContains(t, k.server.Dump("ACL", "Port_Group", "Address_Set"), "netloom")
			require.Equal(t, theirs, k.server.Dump("Load_Balancer", "Logical_Switch", "Logical_Router"), "rows of kube-ovn were changed")
		})
	}
}
