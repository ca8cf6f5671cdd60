package ovn_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/translator"
)

// kubeOVN is a cluster and its database, with the rows that kube-ovn v1.17 writes. netloom is beside it from the first sync on.
type kubeOVN struct {
	*rig
	translator *translator.Translator
	cluster    oracle.Cluster
	tiers      bool
	pods       map[string]podPort // by namespace/name
	vpcs       map[string]string  // of a subnet
}

// podPort is the logical port of a pod.
type podPort struct {
	port string
	addr netip.Addr
	vpc  string
}

// subnet is a Subnet of kube-ovn.
type subnet struct {
	name, vpc, cidr, gateway string
	private                  bool     // spec.private
	allow                    []string // spec.allowSubnets
	eastWest                 bool     // spec.allowEWTraffic, which takes effect with some spec.acls
	vlan                     bool     // an underlay: packets leave by a localnet port
	central                  string   // the join address of the node that a centralised gateway is on; "" is a distributed one
}

// The default VPC and its first subnets, as the installer sets them up.
const (
	defaultVPC = "ovn-cluster"
	vendor     = "kube-ovn"
)

func newKubeOVN(t testing.TB, nb []byte, options translator.Options) *kubeOVN {
	k := &kubeOVN{
		rig: newRigOn(t, nb, "kube-ovn", ovn.LoadBalancing{}), translator: translator.New(options), pods: map[string]podPort{}, vpcs: map[string]string{},
	}
	k.tiers = k.client.Schema().HasColumn("ACL", "tier")
	k.others = true
	k.addVPC(t, defaultVPC)
	k.addSubnet(t, &subnet{name: "ovn-default", vpc: defaultVPC, cidr: "10.16.0.0/16", gateway: "10.16.0.1"})
	k.addSubnet(t, &subnet{name: "join", vpc: defaultVPC, cidr: "100.64.0.0/16", gateway: "100.64.0.1"})
	return k
}

func mine(more ...string) libovsdb.OvsMap {
	ids := map[string]string{"vendor": vendor}
	for i := 0; i+1 < len(more); i += 2 {
		ids[more[i]] = more[i+1]
	}
	return ovsdb.Map(ids)
}

func ref(table, name string) libovsdb.UUID {
	return libovsdb.UUID{GoUUID: simulator.UUIDOf(table, name)}
}

// addVPC adds a logical router, and the load balancers that a VPC has for its Services: those of ClientIP affinity are apart.
func (k *kubeOVN) addVPC(t testing.TB, name string) {
	k.transact(t, ovsdb.Insert("Logical_Router", simulator.UUIDOf("Logical_Router", name), libovsdb.Row{"name": name, "external_ids": mine()}))
	for _, lb := range balancersOf(name) {
		row := libovsdb.Row{"name": lb.name, "protocol": lb.protocol, "external_ids": mine()}
		if lb.session {
			row["selection_fields"] = "ip_src"
			row["options"] = ovsdb.Map(map[string]string{"affinity_timeout": "10800"})
		}
		k.transact(t, ovsdb.Insert("Load_Balancer", simulator.UUIDOf("Load_Balancer", lb.name), row))
	}
}

type vpcBalancer struct {
	name, protocol string
	session        bool
}

func balancersOf(vpc string) []vpcBalancer {
	var out []vpcBalancer
	for _, protocol := range []string{"tcp", "udp", "sctp"} {
		if vpc == defaultVPC {
			out = append(out, vpcBalancer{"cluster-" + protocol + "-loadbalancer", protocol, false},
				vpcBalancer{"cluster-" + protocol + "-session-loadbalancer", protocol, true})
			continue
		}
		out = append(out, vpcBalancer{"vpc-" + vpc + "-" + protocol + "-load", protocol, false},
			vpcBalancer{"vpc-" + vpc + "-" + protocol + "-sess-load", protocol, true})
	}
	return out
}

// serve adds a VIP to a load balancer of a VPC, as kube-ovn does for a Service with the annotation ovn.kubernetes.io/vpc.
func (k *kubeOVN) serve(t testing.TB, balancer, vip, to string) {
	k.transact(t, ovsdb.MutateMap("Load_Balancer", simulator.UUIDOf("Load_Balancer", balancer), "vips", map[string]string{vip: to}, nil))
}

// addSubnet adds a logical switch, its port to the router of the VPC, its load balancers and its own ACLs.
func (k *kubeOVN) addSubnet(t testing.TB, s *subnet) {
	k.vpcs[s.name] = s.vpc
	row := libovsdb.Row{"name": s.name, "external_ids": mine()}
	if s.name != "join" {
		var lbs []string
		for _, lb := range balancersOf(s.vpc) {
			lbs = append(lbs, simulator.UUIDOf("Load_Balancer", lb.name))
		}
		row["load_balancer"] = ovsdb.UUIDs(lbs)
	}
	k.transact(t, ovsdb.Insert("Logical_Switch", simulator.UUIDOf("Logical_Switch", s.name), row))
	if !s.vlan {
		k.connectRouter(t, s)
	}
	if s.vlan {
		k.insertPort(t, s.name, "localnet."+s.name, libovsdb.Row{
			"type": "localnet", "addresses": "unknown", "options": ovsdb.Map(map[string]string{"network_name": "net1"}), "tag": 20,
			"external_ids": ovsdb.Map(map[string]string{"ipv4_network": s.cidr}),
		})
	}
	if s.central != "" {
		policy := simulator.UUIDOf("Logical_Router_Policy", s.name)
		k.transact(t,
			ovsdb.Insert("Logical_Router_Policy", policy, libovsdb.Row{
				"priority": 29000, "match": "ip4.src == " + s.cidr, "action": "reroute", "nexthops": s.central, "external_ids": mine(),
			}),
			ovsdb.MutateSet("Logical_Router", simulator.UUIDOf("Logical_Router", s.vpc), "policies", []libovsdb.UUID{{GoUUID: policy}}, nil))
	}
	k.addSubnetACLs(t, s)
}

// connectRouter connects a switch to the router of its VPC, which is the gateway of its pods. That of an underlay is a physical one.
func (k *kubeOVN) connectRouter(t testing.TB, s *subnet) {
	lrp := s.vpc + "-" + s.name
	k.transact(t,
		ovsdb.Insert("Logical_Router_Port", simulator.UUIDOf("Logical_Router_Port", lrp), libovsdb.Row{
			"name": lrp, "mac": "00:00:00:00:00:01", "external_ids": mine("lr", s.vpc),
			"networks": fmt.Sprintf("%s/%d", s.gateway, netip.MustParsePrefix(s.cidr).Bits()),
		}),
		ovsdb.MutateSet("Logical_Router", simulator.UUIDOf("Logical_Router", s.vpc), "ports", []libovsdb.UUID{ref("Logical_Router_Port", lrp)}, nil),
	)
	k.insertPort(t, s.name, s.name+"-"+s.vpc, libovsdb.Row{
		"type": "router", "addresses": "router", "options": ovsdb.Map(map[string]string{"router-port": lrp}), "external_ids": mine("ls", s.name),
	})
}

// addSubnetACLs writes what kube-ovn writes on a switch for spec.private, and for spec.acls with spec.allowEWTraffic.
func (k *kubeOVN) addSubnetACLs(t testing.TB, s *subnet) {
	within := fmt.Sprintf("ip4.src == %[1]s && ip4.dst == %[1]s", s.cidr)
	var acls []kubeOVNACL
	if s.private {
		acls = append(acls, kubeOVNACL{"to-lport", 1000, "ip", "drop"}, kubeOVNACL{"to-lport", 1001, within, "allow-related"},
			kubeOVNACL{"to-lport", 3000, "ip4.src == 100.64.0.0/16", "allow-related"})
		for _, other := range s.allow {
			match := fmt.Sprintf("(ip4.src == %[1]s && ip4.dst == %[2]s) || (ip4.src == %[2]s && ip4.dst == %[1]s)", s.cidr, other)
			acls = append(acls, kubeOVNACL{"to-lport", 1001, match, "allow-related"})
		}
	}
	if s.eastWest {
		acls = append(acls, kubeOVNACL{"to-lport", 1900, within, "allow"}, kubeOVNACL{"from-lport", 1900, within, "allow"},
			kubeOVNACL{"to-lport", 1100, "ip4.src == 10.16.0.0/16 && tcp.dst == 80", "allow-related"})
	}
	for _, a := range acls {
		k.addACL(t, "Logical_Switch", s.name, a, "subnet", s.name)
	}
}

// kubeOVNACL is an ACL of kube-ovn. Egress ACLs on port groups come after load balancing.
type kubeOVNACL struct {
	direction string
	priority  int
	match     string
	action    string
}

func (k *kubeOVN) addACL(t testing.TB, table, parent string, a kubeOVNACL, more ...string) {
	k.transact(t, k.acls(table, parent, []kubeOVNACL{a}, more...)...)
}

// acls returns the operations that add ACLs to a switch or group.
func (k *kubeOVN) acls(table, parent string, list []kubeOVNACL, more ...string) []libovsdb.Operation {
	var ops []libovsdb.Operation
	for _, a := range list {
		id := simulator.UUIDOf("ACL", fmt.Sprint(parent, a))
		row := libovsdb.Row{
			"direction": a.direction, "priority": a.priority, "match": a.match, "action": a.action,
			"external_ids": mine(append([]string{"parent", parent}, more...)...),
		}
		if k.tiers {
			row["tier"] = 2
		}
		if table == "Port_Group" && a.direction == "from-lport" {
			row["options"] = ovsdb.Map(map[string]string{"apply-after-lb": "true"})
		}
		ops = append(ops, ovsdb.Insert("ACL", id, row),
			ovsdb.MutateSet(table, simulator.UUIDOf(table, parent), "acls", []libovsdb.UUID{{GoUUID: id}}, nil))
	}
	return ops
}

func (k *kubeOVN) insertPort(t testing.TB, sw, name string, row libovsdb.Row) {
	row["name"] = name
	id := simulator.UUIDOf("Logical_Switch_Port", name)
	k.transact(t, ovsdb.Insert("Logical_Switch_Port", id, row),
		ovsdb.MutateSet("Logical_Switch", simulator.UUIDOf("Logical_Switch", sw), "ports", []libovsdb.UUID{{GoUUID: id}}, nil))
	await.True(t, func() bool { _, ok := k.client.Port(name); return ok }, "the client knows port %s", name)
}

// addNode adds a node with its port on the switch join, and the port group of its pods. The kubelet uses the address addr; the address
// join is that of ovn0.
func (k *kubeOVN) addNode(t testing.TB, name, addr, join string, annotations map[string]string) {
	group := "node." + name
	k.insertPort(t, "join", "node-"+name, libovsdb.Row{"addresses": "00:00:00:00:00:02 " + join, "external_ids": mine("ls", "join")})
	k.transact(t, ovsdb.Insert("Port_Group", simulator.UUIDOf("Port_Group", group), libovsdb.Row{
		"name": group, "external_ids": mine("node", name, "np", "node/"+name),
	}))
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"ovn.kubernetes.io/ip_address": join}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: addr}}},
	}
	for key, value := range annotations {
		node.Annotations[key] = value
	}
	k.cluster.Nodes = append(k.cluster.Nodes, node)
	require.NoError(t, k.translator.Put(node))
}

func (k *kubeOVN) addNamespace(t testing.TB, name string, labels map[string]string) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	k.cluster.Namespaces = append(k.cluster.Namespaces, ns)
	require.NoError(t, k.translator.Put(ns))
}

// addPod adds a pod "namespace/name" with the label app in a subnet, its port and its place in the group of its node.
func (k *kubeOVN) addPod(t testing.TB, pod, app, sw, addr, node string, ports ...corev1.ContainerPort) {
	namespace, name, _ := strings.Cut(pod, "/")
	port := name + "." + namespace
	k.insertPort(t, sw, port, libovsdb.Row{
		"addresses": "00:00:00:00:00:03 " + addr, "external_ids": mine("pod", pod, "ls", sw),
	})
	k.transact(t, ovsdb.MutateSet("Port_Group", simulator.UUIDOf("Port_Group", "node."+node), "ports", []libovsdb.UUID{ref("Logical_Switch_Port", port)}, nil))
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Ports: ports}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addr, PodIPs: []corev1.PodIP{{IP: addr}}},
	}
	k.cluster.Pods = append(k.cluster.Pods, o)
	k.pods[pod] = podPort{port, netip.MustParseAddr(addr), k.vpcs[sw]}
	require.NoError(t, k.translator.Put(o))
}

func (k *kubeOVN) putPolicy(t testing.TB, p *networkingv1.NetworkPolicy) {
	k.cluster.Policies = append(k.cluster.Policies, p)
	require.NoError(t, k.translator.Put(p))
}

// sync has netloom write what policies say.
func (k *kubeOVN) sync(t testing.TB) *backends.Plan { return k.reconcile(t, k.translator.Snapshot()) }

// tracer judges the rows of both as they are.
func (k *kubeOVN) tracer(t testing.TB) *nbtrace.Tracer {
	t.Helper()
	rows, err := nbtrace.Load(t.Context(), k.client)
	require.NoError(t, err)
	tracer, err := nbtrace.New(rows)
	require.NoError(t, err)
	return tracer
}
