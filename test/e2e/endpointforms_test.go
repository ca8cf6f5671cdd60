//go:build e2e

package e2e_test

import (
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

var endpointPods = flag.Int("endpoints.pods", 100, "pods of the cluster in which forms of Services are compared")

// Nodes of northd's engine, by what they compute.
const (
	nodeNetwork = "northd" // switches, routers and ports
	nodeFlows   = "lflow"
	nodeSets    = "sync_to_sb_addr_set" // address sets, those of all port groups as well
)

// endpointLab is a cluster with policies, with which forms of Services are compared.
type endpointLab struct {
	*ovnlab.Lab

	t       *testing.T
	cluster *oracle.Cluster
	dir     string
}

func newEndpointLab(t *testing.T) *endpointLab {
	t.Helper()
	l := &endpointLab{Lab: startLab(t), t: t, cluster: policygen.Workload(*endpointPods), dir: t.TempDir()}
	for i, p := range l.cluster.Pods { // leaves room for routers
		a := netip.AddrFrom4([4]byte{10, 128, byte(i / 200), byte(1 + i%200)}).String()
		p.Status.PodIP, p.Status.PodIPs[0].IP = a, a
	}
	l.Install(network(t, l.cluster))
	l.put("cluster.yaml", l.cluster)
	l.apply()
	return l
}

// ports are those of the pods.
func (l *endpointLab) ports() []ovnlab.Port {
	var all []ovnlab.Port
	for _, p := range l.Network().Ports {
		all = append(all, *p)
	}
	return all
}

func (l *endpointLab) put(name string, c *oracle.Cluster) {
	l.t.Helper()
	text, err := policygen.YAML(c)
	require.NoError(l.t, err)
	put(l.t, l.dir, name, string(text))
}

func (l *endpointLab) apply() {
	l.t.Helper()
	mustApply(l.t, l.dir, l.NBUnix(), "--force")
}

// create creates a row and returns its UUID.
func (l *endpointLab) create(args ...string) string {
	l.t.Helper()
	return strings.TrimSpace(l.NBCtl(slices.Concat([]string{"create"}, args)...))
}

// raw creates a load balancer with two backends on the switches, in a group, and changes one of them with each event.
func (l *endpointLab) raw(number int, options ...string) (uuid string, event func(i int)) {
	l.t.Helper()
	vips := func(i int) string {
		return fmt.Sprintf(`vips:"10.97.0.%d:80"="10.128.0.1:80,10.128.0.%d:80"`, number, 2+i)
	}
	uuid = l.create(slices.Concat([]string{"Load_Balancer", fmt.Sprint("name=raw", number), "protocol=tcp", vips(0)}, options)...)
	return uuid, func(i int) { l.NBCtl("set", "Load_Balancer", uuid, vips(i)) }
}

// grouped puts a load balancer on all switches, by way of a group.
func (l *endpointLab) grouped(number int, options ...string) (uuid string, event func(i int)) {
	l.t.Helper()
	uuid, event = l.raw(number, options...)
	group := l.create("Load_Balancer_Group", fmt.Sprint("name=raw", number), "load_balancer="+uuid)
	for _, s := range l.switches() {
		l.NBCtl("add", "Logical_Switch", s, "load_balancer_group", group)
	}
	return uuid, event
}

func (l *endpointLab) switches() []string {
	l.t.Helper()
	return strings.Fields(l.NBCtl("--bare", "--no-headings", "--columns=name", "list", "Logical_Switch"))
}

// serve writes a Service by netloom, for pods of all nodes or of the sender's, and returns events that change its endpoints.
func (l *endpointLab) serve(number int, internal corev1.ServiceInternalTrafficPolicy) (event func(i int)) {
	l.t.Helper()
	all := policygen.Services(1)
	service, slice := all.Services[0], all.Slices[0]
	name := fmt.Sprint("form-", number)
	service.Name, service.Spec.InternalTrafficPolicy = name, &internal
	service.Spec.ClusterIP = fmt.Sprintf("10.98.0.%d", number)
	service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	slice.Name, slice.Labels["kubernetes.io/service-name"] = name, name
	slice.Endpoints = slice.Endpoints[:2]
	event = func(i int) {
		for j, p := range l.cluster.Pods[i : i+2] {
			slice.Endpoints[j].Addresses, slice.Endpoints[j].NodeName = []string{p.Status.PodIP}, &p.Spec.NodeName
		}
		l.put(name+".yaml", &oracle.Cluster{Services: all.Services, Slices: all.Slices})
		l.apply()
	}
	event(0)
	return event
}

// secondNode adds a node to the cluster.
func (l *endpointLab) secondNode() {
	l.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "another", UID: "another"}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.3"}}
	l.put("another.yaml", &oracle.Cluster{Nodes: []*corev1.Node{n}})
	l.apply()
}

// endpointForm is a way to write a Service.
type endpointForm struct {
	name string
	// begin writes it, and returns an event that changes its endpoints: the i-th is another one than all before.
	begin func(l *endpointLab) (event func(i int))
	want  []string // what OVN 25.03 computes anew with each event, of the nodes that grow with the cluster
}

func endpointForms() []endpointForm {
	one := func(begin func(*endpointLab) (string, func(int))) func(*endpointLab) func(int) {
		return func(l *endpointLab) func(int) {
			_, event := begin(l)
			return event
		}
	}
	everything := []string{nodeNetwork, nodeFlows, nodeSets}
	return []endpointForm{
		{"none, but an address of a set", func(l *endpointLab) func(int) {
			uuid := l.create("Address_Set", "name=raw", `addresses="192.0.2.1"`)
			return func(i int) { l.NBCtl("set", "Address_Set", uuid, fmt.Sprintf(`addresses="192.0.2.%d"`, 1+i)) }
		}, nil},
		{"a load balancer that is nowhere", one(func(l *endpointLab) (string, func(int)) { return l.raw(1) }), []string{nodeSets}},
		{"in a group of the switches", one(func(l *endpointLab) (string, func(int)) { return l.grouped(2) }), []string{nodeSets}},
		{"on each switch", func(l *endpointLab) func(int) {
			uuid, event := l.raw(3)
			for _, s := range l.switches() {
				l.NBCtl("ls-lb-add", s, uuid)
			}
			return event
		}, []string{nodeSets}},
		{"on the router", func(l *endpointLab) func(int) {
			uuid, event := l.raw(4, "options:neighbor_responder=reachable")
			l.NBCtl("lr-lb-add", "lr", uuid)
			return event
		}, []string{nodeSets}},
		{"on the router, without answers to ARP", func(l *endpointLab) func(int) {
			uuid, event := l.raw(5, "options:neighbor_responder=none")
			l.NBCtl("lr-lb-add", "lr", uuid)
			return event
		}, []string{nodeSets}},
		{"with every option that netloom sets", one(func(l *endpointLab) (string, func(int)) {
			return l.grouped(6, "options:neighbor_responder=none", "options:hairpin_snat_ip=169.254.169.5", "options:reject=true",
				"options:skip_snat=true", "options:ct_flush=true", "options:affinity_timeout=60")
		}), []string{nodeSets}},
		{"with a health check", func(l *endpointLab) func(int) {
			uuid, event := l.grouped(7)
			l.NBCtl("--id=@check", "create", "Load_Balancer_Health_Check", `vip="10.97.0.7:80"`, "--", "add", "Load_Balancer", uuid, "health_check", "@check")
			return event
		}, everything},
		{"a variable of a chassis", func(l *endpointLab) func(int) {
			uuid, _ := l.grouped(8, "options:template=true", "options:address-family=ipv4")
			l.NBCtl("set", "Load_Balancer", uuid, `vips:"10.97.0.8:80"="^raw"`)
			vars := l.create("Chassis_Template_Var", "chassis=raw", `variables:raw="10.128.0.1:80"`)
			return func(i int) {
				l.NBCtl("set", "Chassis_Template_Var", vars, fmt.Sprintf(`variables:raw="10.128.0.%d:80"`, 2+i))
			}
		}, everything},
		{"netloom's for a cluster IP", func(l *endpointLab) func(int) {
			return l.serve(1, corev1.ServiceInternalTrafficPolicyCluster)
		}, []string{nodeSets}},
		{"netloom's by node, with one node", func(l *endpointLab) func(int) {
			return l.serve(2, corev1.ServiceInternalTrafficPolicyLocal)
		}, []string{nodeSets}},
		{"a load balancer that is nowhere, beside 20 sets of every address", func(l *endpointLab) func(int) {
			for i := range 20 {
				l.create("Address_Set", fmt.Sprint("name=every", i), addressesOf(l.ports()))
			}
			_, event := l.raw(9)
			return event
		}, []string{nodeSets}},
		{"the same, beside 20 port groups of every port", func(l *endpointLab) func(int) {
			for i := range 20 {
				l.NBCtl("destroy", "Address_Set", fmt.Sprint("every", i))
				args := []string{"pg-add", fmt.Sprint("every", i)}
				for _, p := range l.ports() {
					args = append(args, p.Name)
				}
				l.NBCtl(args...)
			}
			_, event := l.raw(10)
			return event
		}, []string{nodeSets}},
		{"netloom's by node, with two nodes", func(l *endpointLab) func(int) {
			l.secondNode()
			return l.serve(3, corev1.ServiceInternalTrafficPolicyLocal)
		}, everything},
	}
}

// TestEndpointForms counts what ovn-northd computes anew for an endpoint in every form of a Service that netloom could write. See ADR 44 for
// the figures, which are those of -endpoints.pods=1000.
func TestEndpointForms(t *testing.T) {
	const events = 5
	l := newEndpointLab(t)
	incremental := l.HasTiers() // such a northd takes a changed load balancer incrementally
	for _, form := range endpointForms() {
		event := form.begin(l)
		l.Sync()
		before, used := l.Recomputes(), l.NorthdCPU()
		for i := range events {
			event(i + 1)
			l.Sync()
		}
		used = l.NorthdCPU() - used
		grown := map[string]int{}
		for node, n := range l.Recomputes() {
			if n -= before[node]; n > 0 && !strings.HasPrefix(node, "NB_") && !strings.HasPrefix(node, "SB_") {
				grown[node] = n
			}
		}
		t.Logf("%s: northd %v for each of %d events; %v", form.name, used/events, events, grown)
		for _, node := range []string{nodeNetwork, nodeFlows, nodeSets} {
			switch {
			case incremental && !slices.Contains(form.want, node):
				require.Zero(t, grown[node], "%s: %s", form.name, node)
			case slices.Contains(form.want, node):
				require.GreaterOrEqual(t, grown[node], events, "%s: %s: a form that is better than ADR 44 knows", form.name, node)
			}
		}
	}
	require.Empty(t, l.Complaints())
}
