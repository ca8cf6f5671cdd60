package ovn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// transactions are what kube-ovn writes one after the other.
type transactions [][]libovsdb.Operation

// enforce lists what kube-ovn writes for its network policies, with --enable-np=true: for each policy a group, address sets, and the ACLs of a
// direction at once. It ends with the ACLs of nodes.
func (k *kubeOVN) enforce(t testing.TB) transactions {
	var out transactions
	for _, p := range k.cluster.Policies {
		out = append(out, k.enforcePolicy(t, p)...)
	}
	for _, n := range k.cluster.Nodes {
		group, addr := "node."+n.Name, n.Status.Addresses[0].Address
		out = append(out, k.acls("Port_Group", group, []kubeOVNACL{
			{"to-lport", 3000, fmt.Sprintf("ip4.src == %s && ip4.dst == $%s_ip4", addr, group), "allow-related"},
			{"from-lport", 3000, fmt.Sprintf("ip4.dst == %s && ip4.src == $%s_ip4", addr, group), "allow-related"},
		}))
	}
	return out
}

// release lists what kube-ovn writes when it starts with --enable-np=false: it collects the groups of policies as garbage, then their address
// sets, and clears the groups of nodes.
func (k *kubeOVN) release() transactions {
	var groups, sets []libovsdb.Operation
	for _, p := range k.cluster.Policies {
		groups = append(groups, ovsdb.Delete("Port_Group", simulator.UUIDOf("Port_Group", groupOf(p))))
		for _, name := range setsOf(p) {
			sets = append(sets, ovsdb.Delete("Address_Set", simulator.UUIDOf("Address_Set", name)))
		}
	}
	out := transactions{groups, sets}
	for _, n := range k.cluster.Nodes {
		out = append(out, []libovsdb.Operation{{
			Op: "update", Table: "Port_Group", Row: libovsdb.Row{"acls": ovsdb.UUIDs(nil)},
			Where: []libovsdb.Condition{{Column: "name", Function: "==", Value: "node." + n.Name}},
		}})
	}
	return out
}

// write runs transactions, and calls after each of them, with the number of the transaction.
func (k *kubeOVN) write(t testing.TB, list transactions, after func(n int)) {
	t.Helper()
	for i, ops := range list {
		if len(ops) == 0 {
			continue
		}
		k.transact(t, ops...)
		if after != nil {
			after(i)
		}
	}
}

func groupOf(p *networkingv1.NetworkPolicy) string {
	return strings.ReplaceAll(p.Name, "-", ".") + "." + p.Namespace
}

// rulesOf lists the rules of a policy with the direction in which kube-ovn names them.
func rulesOf(p *networkingv1.NetworkPolicy) []policyRule {
	var out []policyRule
	for i, r := range p.Spec.Ingress {
		out = append(out, policyRule{fmt.Sprintf("%s.ingress.%%s.IPv4.%d", groupOf(p), i), "to-lport", r.From, r.Ports})
	}
	for i, r := range p.Spec.Egress {
		out = append(out, policyRule{fmt.Sprintf("%s.egress.%%s.IPv4.%d", groupOf(p), i), "from-lport", r.To, r.Ports})
	}
	return out
}

type policyRule struct {
	sets      string // the names of its address sets, for what it allows and what it excepts
	direction string
	peers     []networkingv1.NetworkPolicyPeer
	ports     []networkingv1.NetworkPolicyPort
}

func setsOf(p *networkingv1.NetworkPolicy) []string {
	var out []string
	for _, r := range rulesOf(p) {
		out = append(out, fmt.Sprintf(r.sets, "allow"), fmt.Sprintf(r.sets, "except"))
	}
	return out
}

func (k *kubeOVN) enforcePolicy(t testing.TB, p *networkingv1.NetworkPolicy) transactions {
	group := groupOf(p)
	var ports []string
	for _, pod := range k.selected(t, p.Namespace, &p.Spec.PodSelector, nil) {
		ports = append(ports, simulator.UUIDOf("Logical_Switch_Port", k.pods[pod.Namespace+"/"+pod.Name].port))
	}
	out := transactions{{ovsdb.Insert("Port_Group", simulator.UUIDOf("Port_Group", group), libovsdb.Row{
		"name": group, "ports": ovsdb.UUIDs(ports), "external_ids": mine("np", p.Namespace+"/"+p.Name),
	})}}
	acls := map[string][]kubeOVNACL{}
	for _, d := range p.Spec.PolicyTypes {
		if d == networkingv1.PolicyTypeIngress {
			acls["to-lport"] = []kubeOVNACL{{"to-lport", 2000, "outport == @" + group + " && ip", "drop"}}
		} else {
			acls["from-lport"] = []kubeOVNACL{{"from-lport", 2000, "inport == @" + group + " && ip", "drop"}}
		}
	}
	for _, r := range rulesOf(p) {
		allow, except := fmt.Sprintf(r.sets, "allow"), fmt.Sprintf(r.sets, "except")
		for name, addrs := range map[string][]string{allow: k.addressesOf(t, p.Namespace, r.peers), except: nil} {
			out = append(out, []libovsdb.Operation{ovsdb.Insert("Address_Set", simulator.UUIDOf("Address_Set", name), libovsdb.Row{
				"name": name, "addresses": ovsdb.Set(addrs), "external_ids": mine("np", p.Namespace+"/"+p.Name),
			})})
		}
		port, side := "outport", "src"
		if r.direction == "from-lport" {
			port, side = "inport", "dst"
		}
		match := fmt.Sprintf("%[1]s == @%[2]s && ip && ip4.%[3]s == $%[4]s && ip4.%[3]s != $%[5]s", port, group, side, allow, except)
		for _, number := range k.numbersOf(p.Namespace, r.ports) {
			acls[r.direction] = append(acls[r.direction], kubeOVNACL{r.direction, 2001, match + number, "allow-related"})
		}
	}
	for _, d := range []string{"to-lport", "from-lport"} {
		if len(acls[d]) > 0 {
			out = append(out, k.acls("Port_Group", group, acls[d]))
		}
	}
	return out
}

// numbersOf lists the ports of a rule as parts of matches. A named port is that of the first pod of the policy's namespace that has one of
// the name, which is what kube-ovn takes for all of them.
func (k *kubeOVN) numbersOf(namespace string, ports []networkingv1.NetworkPolicyPort) []string {
	if len(ports) == 0 {
		return []string{""}
	}
	var out []string
	for _, p := range ports {
		number := p.Port.IntVal
		for _, pod := range slices.Backward(k.cluster.Pods) {
			for _, c := range pod.Spec.Containers[0].Ports {
				if pod.Namespace == namespace && p.Port.StrVal != "" && c.Name == p.Port.StrVal {
					number = c.ContainerPort
				}
			}
		}
		out = append(out, fmt.Sprintf(" && tcp.dst == %d", number))
	}
	return out
}

// addressesOf lists the addresses of peers.
func (k *kubeOVN) addressesOf(t testing.TB, namespace string, peers []networkingv1.NetworkPolicyPeer) []string {
	out := []string{}
	if len(peers) == 0 {
		return []string{"0.0.0.0/0"}
	}
	for _, peer := range peers {
		pods := &metav1.LabelSelector{}
		if peer.PodSelector != nil {
			pods = peer.PodSelector
		}
		for _, pod := range k.selected(t, namespace, pods, peer.NamespaceSelector) {
			out = append(out, pod.Status.PodIP)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selected lists the pods of the namespaces that a selector selects; nil is the namespace itself.
func (k *kubeOVN) selected(t testing.TB, namespace string, pods, namespaces *metav1.LabelSelector) []*corev1.Pod {
	matches := func(ls *metav1.LabelSelector, has map[string]string) bool {
		s, err := metav1.LabelSelectorAsSelector(ls)
		require.NoError(t, err)
		return s.Matches(labels.Set(has))
	}
	in := map[string]bool{}
	for _, ns := range k.cluster.Namespaces {
		in[ns.Name] = namespaces == nil && ns.Name == namespace || namespaces != nil && matches(namespaces, ns.Labels)
	}
	var out []*corev1.Pod
	for _, pod := range k.cluster.Pods {
		if in[pod.Namespace] && matches(pods, pod.Labels) {
			out = append(out, pod)
		}
	}
	return out
}
