package ovn_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/translator"
)

// closedShop is a cluster with the pods web and db in ovn-default, in which a policy isolates db in both directions and lets web in.
func closedShop(t testing.TB, nb []byte) *kubeOVN {
	k := newKubeOVN(t, nb, translator.Options{})
	k.addNode(t, "n0", "192.168.77.10", "100.64.0.2", nil)
	k.addNode(t, "n1", "192.168.77.11", "100.64.0.3", map[string]string{"netloom.io/node-addresses": "100.64.0.3"})
	k.addNamespace(t, "shop", nil)
	k.addPod(t, "shop/web", "web", "ovn-default", "10.16.0.11", "n0")
	k.addPod(t, "shop/db", "db", "ovn-default", "10.16.0.12", "n1")
	k.putPolicy(t, networkPolicy(t, "shop", "db", `{podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress], ingress: [
		{from: [{podSelector: {matchLabels: {app: web}}}]}]}`))
	return k
}

// tcp is the first packet from one of the pods, nodes ("node-n0") or addresses to a pod or an address.
func (k *kubeOVN) tcp(from, to string, port uint16) nbtrace.Packet {
	p := nbtrace.Packet{Protocol: 6, SrcPort: 40000, DstPort: port}
	end := func(name string) (string, netip.Addr) {
		if pod, ok := k.pods[name]; ok {
			return pod.port, pod.addr
		}
		node, addr, found := strings.Cut(name, "@")
		if !found {
			node, addr = "", name
		}
		return node, netip.MustParseAddr(addr)
	}
	p.Inport, p.Src = end(from)
	p.Outport, p.Dst = end(to)
	return p
}

// allows reports whether the rows allow a packet.
func (k *kubeOVN) allows(t testing.TB, p nbtrace.Packet) bool {
	t.Helper()
	return k.tracer(t).Trace(p).Allowed
}

// TestWhoWinsBesideKubeOVN has an ACL of kube-ovn beside a policy that isolates a pod and lets another in.
func TestWhoWinsBesideKubeOVN(t *testing.T) {
	const web, other = "10.16.0.11", "10.16.0.13" // the policy lets in the first
	for _, tc := range []struct {
		name          string
		acl           kubeOVNACL
		onPod         bool // the ACL is on a group with the pod, not on the switch
		wantWeb, want bool
	}{
		{"nothing", kubeOVNACL{"to-lport", 0, "ip4.src == 192.0.2.1", "drop"}, false, true, false},
		{"the drop of a private subnet", kubeOVNACL{"to-lport", 1000, "ip", "drop"}, false, true, false},
		{"what a private subnet allows itself", kubeOVNACL{"to-lport", 1001, "ip4.src == 10.16.0.0/16", "allow-related"}, false, true, false},
		{"allowEWTraffic", kubeOVNACL{"to-lport", 1900, "ip4.src == 10.16.0.0/16", "allow"}, false, true, false},
		{"spec.acls up to 1999", kubeOVNACL{"to-lport", 1999, "ip4.src == 10.16.0.0/16", "allow-related"}, false, true, false},
		{"spec.acls that drop, up to 2001", kubeOVNACL{"to-lport", 2001, "ip4", "drop"}, false, true, false},
		{"spec.acls from 2003", kubeOVNACL{"to-lport", 2003, "ip4.src == 10.16.0.0/16", "allow-related"}, false, true, true},
		{"spec.acls that drop, from 2003", kubeOVNACL{"to-lport", 2003, "ip4", "drop"}, false, false, false},
		{"a network policy of kube-ovn that drops", kubeOVNACL{"to-lport", 2000, "outport == @sg && ip", "drop"}, true, true, false},
		{"a network policy of kube-ovn that allows", kubeOVNACL{"to-lport", 2001, "outport == @sg && ip4.src == " + other, "allow-related"}, true, true, true},
		{"the drop of a security group", kubeOVNACL{"to-lport", 2003, "outport == @sg && ip", "drop"}, true, false, false},
		{"a rule of a security group", kubeOVNACL{"to-lport", 18484, "outport == @sg && ip4.src == " + other, "allow-related"}, true, true, true},
	} {
		for name, nb := range kubeOVNSchemas() {
			t.Run(tc.name+", "+name, func(t *testing.T) {
				k := closedShop(t, nb)
				table, parent := "Logical_Switch", "ovn-default"
				if tc.onPod {
					table, parent = "Port_Group", "sg"
					k.addGroup(t, "sg", "db.shop")
				}
				k.addACL(t, table, parent, tc.acl)
				k.sync(t)
				require.Equal(t, tc.wantWeb, k.allows(t, k.tcp(web, "shop/db", 80)), "from web")
				require.Equal(t, tc.want, k.allows(t, k.tcp(other, "shop/db", 80)), "from another")
			})
		}
	}
}

// TestAnAdministratorsDenialIsAboveKubeOVN has a ClusterNetworkPolicy deny what ACLs of kube-ovn allow.
func TestAnAdministratorsDenialIsAboveKubeOVN(t *testing.T) {
	k := closedShop(t, schema.NB2503())
	k.addGroup(t, "sg", "db.shop")
	k.addACL(t, "Port_Group", "sg", kubeOVNACL{"to-lport", 18484, "outport == @sg && ip4.src == 10.16.0.13", "allow-related"})
	k.putClusterPolicy(t, `{metadata: {name: none}, spec: {tier: Admin, priority: 900, subject: {namespaces: {}}, ingress: [
		{action: Deny, from: [{namespaces: {}}]}]}}`)
	k.addPod(t, "shop/other", "other", "ovn-default", "10.16.0.13", "n0")
	k.sync(t)
	require.False(t, k.allows(t, k.tcp("shop/other", "shop/db", 80)))
}

// TestNodesReachTheirPodsInKubeOVN probes pods from nodes as kubelets do, before and after kube-ovn gives up its policies.
func TestNodesReachTheirPodsInKubeOVN(t *testing.T) {
	k := closedShop(t, schema.NB2503())
	own, other := "node-n1@192.168.77.11", "node-n0@192.168.77.10"
	k.write(t, k.enforce(t), nil)
	require.True(t, k.allows(t, k.tcp(own, "shop/db", 80)), "kube-ovn alone")
	require.False(t, k.allows(t, k.tcp("node-n1@100.64.0.3", "shop/db", 80)), "kube-ovn alone, from ovn0")
	require.True(t, k.allows(t, k.tcp("shop/db", own, 80)), "kube-ovn lets a pod reach its node")
	k.sync(t)
	k.write(t, k.release(), func(n int) {
		require.True(t, k.allows(t, k.tcp(own, "shop/db", 80)), "transaction %d", n)
		require.False(t, k.allows(t, k.tcp(other, "shop/db", 80)), "transaction %d", n)
	})
	require.True(t, k.allows(t, k.tcp("node-n1@100.64.0.3", "shop/db", 80)), "the annotation has the address of ovn0")
	require.False(t, k.allows(t, k.tcp("node-n0@100.64.0.2", "shop/db", 80)))
	require.False(t, k.allows(t, k.tcp("shop/db", own, 80)), "for a pod, its node is outside")

	k.addSubnet(t, &subnet{name: "safe", vpc: defaultVPC, cidr: "10.17.0.0/16", gateway: "10.17.0.1", private: true})
	k.addPod(t, "shop/vault", "db", "safe", "10.17.0.11", "n1")
	k.sync(t)
	require.True(t, k.allows(t, k.tcp(own, "shop/vault", 80)))
	require.False(t, k.allows(t, k.tcp(other, "shop/vault", 80)))
	require.True(t, k.allows(t, k.tcp("node-n0@100.64.0.2", "shop/vault", 80)), "kube-ovn lets every address of the join network into a private subnet")
}

// TestGatewayOfASubnetStaysReachable checks what kube-ovn-cni does before a pod starts: it resolves the IPv4 gateway, and sends an ICMPv6 echo
// request to the IPv6 gateway. The latter takes the policy in docs/kube-ovn.md.
func TestGatewayOfASubnetStaysReachable(t *testing.T) {
	for name, nb := range kubeOVNSchemas() {
		t.Run(name, func(t *testing.T) {
			k := closedShop(t, nb)
			k.addSubnet(t, &subnet{name: "six", vpc: defaultVPC, cidr: "fd00:10:16::/112", gateway: "fd00:10:16::1"})
			k.addPod(t, "shop/db6", "db", "six", "fd00:10:16::12", "n1")
			k.addPod(t, "shop/web6", "web", "six", "fd00:10:16::11", "n1")
			k.sync(t)
			require.True(t, k.allows(t, nbtrace.Packet{Inport: "db.shop", ARP: true}), "ARP for the gateway")
			icmp := func(to string, kind uint8) nbtrace.Packet {
				p := k.tcp("shop/db6", to, 0)
				p.Protocol, p.ICMPType, p.SrcPort = 58, kind, 0
				return p
			}
			require.True(t, k.allows(t, icmp("fd00:10:16::1", 135)), "neighbor discovery")
			require.False(t, k.allows(t, icmp("fd00:10:16::1", 128)), "an echo request is denied like anything else")

			k.putClusterPolicy(t, blockOf(t, "kind: ClusterNetworkPolicy"))
			k.sync(t)
			require.Empty(t, k.translator.Problems())
			require.True(t, k.allows(t, icmp("fd00:10:16::1", 128)), "with the policy of the docs")
			require.False(t, k.allows(t, icmp("shop/web6", 128)))
			require.False(t, k.allows(t, k.tcp("shop/db6", "2001:db8::1", 443)))
			require.True(t, k.allows(t, k.tcp("shop/web6", "2001:db8::1", 443)), "it isolates no pod")
		})
	}
}

// TestPortNamesOfKubeOVN isolates the ports of a pod in the default network, and those in attached ones if they are named too.
func TestPortNamesOfKubeOVN(t *testing.T) {
	for names, want := range map[string][]string{
		"kube-ovn": {"a.shop"},
		"kube-ovn,{pod}.{namespace}.net1.default.ovn": {"a.shop", "a.shop.net1.default.ovn"},
	} {
		r := newRig(t, names)
		for _, name := range []string{"a.shop", "a.shop.net1.default.ovn", "a.shop.net2.default.ovn", "a.shop2", "node-n0"} {
			r.addPort(t, name, map[string]string{"vendor": vendor})
		}
		r.reconcile(t, shop("a").Snapshot())
		ports, _ := r.groupPorts(t, "db")
		require.Equal(t, want, ports)
	}
}

// TestLoadBalancersOfKubeOVNAreLeftAlone has Services whose VIPs kube-ovn has, in the default VPC and in another, with and without affinity.
func TestLoadBalancersOfKubeOVNAreLeftAlone(t *testing.T) {
	for _, tc := range []struct{ name, balancer, network string }{
		{"of the default VPC", "cluster-tcp-loadbalancer", ""},
		{"with affinity", "cluster-tcp-session-loadbalancer", ""},
		{"of another VPC", "vpc-blue-tcp-load", "blue"},
		{"of another VPC, with affinity", "vpc-blue-tcp-sess-load", "blue"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKubeOVN(t, schema.NB2503(), translator.Options{})
			k.addVPC(t, "blue")
			k.addSubnet(t, &subnet{name: "blue1", vpc: "blue", cidr: "10.20.0.0/16", gateway: "10.20.0.1"})
			k.serve(t, tc.balancer, "10.96.0.1:80", "10.20.0.2:8080")
			k.see(t)
			names, err := ovn.ParsePortNames("kube-ovn")
			require.NoError(t, err)
			k.backend, err = ovn.New(k.client, ovn.Options{Owner: "a", Ports: names, LoadBalancing: ovn.LoadBalancing{Networks: "blue"}})
			require.NoError(t, err)
			before := k.server.Dump("Load_Balancer", "Load_Balancer_Group", "Logical_Switch", "Logical_Router")
			lb := web(intent.ClusterAddress, nil)
			lb.Network = tc.network
			p := k.reconcile(t, balanced(lb))
			require.Equal(t, []backends.Skip{{
				Intent: "Service/shop/web", Reason: `tcp/10.96.0.1:80: another owner's load balancer "` + tc.balancer + `" has this VIP`,
			}}, p.Skips)
			require.Equal(t, before, k.server.Dump("Load_Balancer", "Load_Balancer_Group", "Logical_Switch", "Logical_Router"))
		})
	}
}

// TestPoliciesSeeTheBackendsOfKubeOVN sends to a Service of kube-ovn from a pod that may reach one of two backends.
func TestPoliciesSeeTheBackendsOfKubeOVN(t *testing.T) {
	k := closedShop(t, schema.NB2503())
	k.addPod(t, "shop/open", "web", "ovn-default", "10.16.0.13", "n0")
	k.putPolicy(t, networkPolicy(t, "shop", "web-to-db", `{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [
		{to: [{podSelector: {matchLabels: {app: db}}}], ports: [{port: 5432}]}]}`))
	k.serve(t, "cluster-tcp-loadbalancer", "10.96.0.1:80", "10.16.0.12:5432")
	k.serve(t, "cluster-tcp-session-loadbalancer", "10.96.0.2:80", "10.16.0.13:5432")
	k.sync(t)
	for vip, want := range map[string]bool{"10.96.0.1": true, "10.96.0.2": false} {
		r := k.tracer(t).Trace(k.tcp("shop/web", vip, 80))
		require.NotNil(t, r.Balanced, vip)
		require.Equal(t, want, r.Allowed, vip)
	}
}

// TestNamedPortsThatKubeOVNMistakes shows what stays open beside kube-ovn: it takes the number of one pod for all, and an allowing ACL of either
// controller opens. Once its rows are gone, the port is closed.
func TestNamedPortsThatKubeOVNMistakes(t *testing.T) {
	k := closedShop(t, schema.NB2503())
	k.addPod(t, "shop/a", "api", "ovn-default", "10.16.0.21", "n0", corev1.ContainerPort{Name: "http", ContainerPort: 8080})
	k.addPod(t, "shop/b", "api", "ovn-default", "10.16.0.22", "n0", corev1.ContainerPort{Name: "http", ContainerPort: 9090})
	k.putPolicy(t, networkPolicy(t, "shop", "api", `{podSelector: {matchLabels: {app: api}}, policyTypes: [Ingress], ingress: [
		{from: [{podSelector: {}}], ports: [{port: http}]}]}`))
	state := func() [2]bool {
		return [2]bool{k.allows(t, k.tcp("shop/web", "shop/b", 8080)), k.allows(t, k.tcp("shop/web", "shop/b", 9090))}
	}
	k.write(t, k.enforce(t), nil)
	require.Equal(t, [2]bool{true, false}, state(), "kube-ovn alone")
	k.sync(t)
	require.Equal(t, [2]bool{true, true}, state(), "beside")
	k.write(t, k.release(), nil)
	require.Equal(t, [2]bool{false, true}, state(), "netloom alone")
}

// addGroup adds a port group of kube-ovn with a port.
func (k *kubeOVN) addGroup(t testing.TB, name, port string) {
	k.transact(t, libovsdb.Operation{Op: "insert", Table: "Port_Group", UUID: ref("Port_Group", name).GoUUID, Row: libovsdb.Row{
		"name": name, "ports": ref("Logical_Switch_Port", port), "external_ids": mine("sg", name),
	}})
}

func (k *kubeOVN) putClusterPolicy(t testing.TB, text string) {
	t.Helper()
	p := &v1alpha2.ClusterNetworkPolicy{}
	require.NoError(t, yaml.Unmarshal([]byte(text), p))
	k.cluster.ClusterPolicies = append(k.cluster.ClusterPolicies, p)
	require.NoError(t, k.translator.Put(p))
}

// blockOf returns the block of docs/kube-ovn.md that contains some text.
func blockOf(t testing.TB, text string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/kube-ovn.md")
	require.NoError(t, err)
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 1 && strings.Contains(block, text) {
			_, content, _ := strings.Cut(block, "\n")
			return content
		}
	}
	require.Fail(t, "docs/kube-ovn.md has no such block", text)
	return ""
}

// TestOverlappingAddressesOfTwoVPCs gives pods of two VPCs the same address: no rule that selects pods allows the address, in either VPC, and
// both pods have a problem, until one of them is gone. Other addresses of the same range are not affected.
func TestOverlappingAddressesOfTwoVPCs(t *testing.T) {
	k := newKubeOVN(t, schema.NB2503(), translator.Options{})
	k.addNode(t, "n0", "192.168.77.10", "100.64.0.2", nil)
	for _, vpc := range []string{"blue", "green"} {
		k.addVPC(t, vpc)
		k.addSubnet(t, &subnet{name: vpc + "1", vpc: vpc, cidr: "10.20.0.0/16", gateway: "10.20.0.1"})
		k.addNamespace(t, vpc, nil)
		k.putPolicy(t, networkPolicy(t, vpc, "db", `{podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [
			{from: [{podSelector: {matchLabels: {app: web}}}]}]}`))
	}
	k.addPod(t, "blue/db", "db", "blue1", "10.20.0.2", "n0")
	k.addPod(t, "green/db", "db", "green1", "10.20.0.3", "n0")
	k.addPod(t, "blue/web", "web", "blue1", "10.20.0.11", "n0")
	k.sync(t)
	require.Empty(t, k.translator.Problems())
	require.True(t, k.allows(t, k.tcp("blue/web", "blue/db", 80)))

	k.addPod(t, "green/other", "other", "green1", "10.20.0.11", "n0") // green/db does not select it, blue/db would by its address
	k.addPod(t, "blue/web-2", "web", "blue1", "10.20.0.12", "n0")
	k.sync(t)
	require.False(t, k.allows(t, k.tcp("blue/web", "blue/db", 80)), "it cannot be told apart")
	require.False(t, k.allows(t, k.tcp("green/other", "green/db", 80)))
	require.True(t, k.allows(t, k.tcp("blue/web-2", "blue/db", 80)), "only one pod has this address")
	var told []string
	for _, p := range k.translator.Problems() {
		told = append(told, p.Ref.String()+" "+p.Field)
	}
	require.Equal(t, []string{"Pod blue/web status.podIPs", "Pod green/other status.podIPs"}, told)

	k.translator.Remove(object.KindPod, "green", "other")
	k.sync(t)
	require.Empty(t, k.translator.Problems())
	require.True(t, k.allows(t, k.tcp("blue/web", "blue/db", 80)))
}

// TestADenialMatchesAnAddressOfTwoVPCs denies a pod whose address a pod of another VPC has too: the packets of both are dropped.
func TestADenialMatchesAnAddressOfTwoVPCs(t *testing.T) {
	k := newKubeOVN(t, schema.NB2503(), translator.Options{})
	k.addNode(t, "n0", "192.168.77.10", "100.64.0.2", nil)
	for _, vpc := range []string{"blue", "green"} {
		k.addVPC(t, vpc)
		k.addSubnet(t, &subnet{name: vpc + "1", vpc: vpc, cidr: "10.20.0.0/16", gateway: "10.20.0.1"})
		k.addNamespace(t, vpc, map[string]string{"team": vpc})
	}
	k.addPod(t, "blue/db", "db", "blue1", "10.20.0.2", "n0")
	k.addPod(t, "blue/web", "web", "blue1", "10.20.0.11", "n0")
	k.putClusterPolicy(t, `{metadata: {name: none}, spec: {tier: Admin, priority: 1, subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: db}}}},
		ingress: [{action: Deny, from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}}]}]}}`)
	k.sync(t)
	require.False(t, k.allows(t, k.tcp("blue/web", "blue/db", 80)))
	k.addPod(t, "green/other", "other", "green1", "10.20.0.11", "n0")
	k.sync(t)
	require.False(t, k.allows(t, k.tcp("blue/web", "blue/db", 80)), "beside a pod with the same address")
	k.translator.Remove(object.KindPod, "blue", "web")
	k.addPod(t, "green/db", "db", "green1", "10.20.0.3", "n0")
	k.sync(t)
	require.True(t, k.allows(t, k.tcp("green/other", "green/db", 80)), "the other pod alone")
}
