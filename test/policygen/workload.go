package policygen

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/test/oracle"
)

// The parameters of Workload.
const (
	WorkloadNamespaces  = 20
	workloadTeams       = 5 // namespaces ns-00, ns-05, … are of team t0
	podsPerPolicy       = 5
	workloadNode        = "n0"
	workloadNodeAddress = "172.18.0.2"
)

func workloadTiers() []string { return []string{"web", "api", "db"} }

// Workload is the regular cluster for comparisons of systems: 20 namespaces, n pods, n/5 policies, one node, IPv4.
//
// Pod i is in namespace i mod 20; as the j-th pod there it is labelled app=a<j mod apps> and tier=<j mod 3 of web, api,
// db>, where apps is the number of policies of a namespace, n/100 (at least 1). Namespace k is labelled team=t<k mod 5>.
// Policy i is in namespace i mod 20 and, as the j-th there, selects app=a<j>: 5 pods if 100 divides n.
//
// Every policy admits, to TCP 80, 443 and 8000-8100, the pods of one tier of its own namespace, the pods of the next app
// in the namespaces of the next team, and 10.0.0.0/8 except 10.128.0.0/9, where the pods are, and 10.96.0.0/12; and it
// allows UDP 53 to every pod.
func Workload(n int) *oracle.Cluster {
	c := &oracle.Cluster{}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: workloadNode, UID: "node-0"}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: workloadNodeAddress}}
	c.Nodes = []*corev1.Node{node}
	for i := range WorkloadNamespaces {
		name := workloadNamespace(i)
		c.Namespaces = append(c.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("namespace-" + name),
			Labels: map[string]string{"team": workloadTeam(i), corev1.LabelMetadataName: name},
		}})
	}
	apps := max(1, n/podsPerPolicy/WorkloadNamespaces)
	tiers := workloadTiers()
	for i := range n {
		c.Pods = append(c.Pods, workloadPod(i, apps, tiers))
	}
	for i := range n / podsPerPolicy {
		c.Policies = append(c.Policies, workloadPolicy(i, apps, tiers))
	}
	return c
}

func workloadNamespace(i int) string { return fmt.Sprintf("ns-%02d", i%WorkloadNamespaces) }

func workloadTeam(i int) string { return fmt.Sprintf("t%d", i%workloadTeams) }

func workloadPod(i, apps int, tiers []string) *corev1.Pod {
	j := i / WorkloadNamespaces
	name := fmt.Sprintf("pod-%05d", i)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: workloadNamespace(i), Name: name, UID: types.UID("pod-" + name),
		Labels: map[string]string{"app": fmt.Sprintf("a%d", j%apps), "tier": tiers[j%len(tiers)]},
	}}
	p.Spec.NodeName = workloadNode
	p.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "example.com/app", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
	}}
	a := netip.AddrFrom4([4]byte{10, byte(128 + i>>16), byte(i >> 8), byte(i)}).String() //nolint:gosec // G115: wraps beyond eight million pods.
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: a, PodIPs: []corev1.PodIP{{IP: a}}}
	return p
}

func workloadPolicy(i, apps int, tiers []string) *networkingv1.NetworkPolicy {
	j := i / WorkloadNamespaces
	name := fmt.Sprintf("policy-%04d", i)
	labels := func(k, v string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
	}
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: workloadNamespace(i), Name: name, UID: types.UID("policy-" + name),
	}}
	p.Spec = networkingv1.NetworkPolicySpec{
		PodSelector: *labels("app", fmt.Sprintf("a%d", j%apps)),
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From: []networkingv1.NetworkPolicyPeer{
				{PodSelector: labels("tier", tiers[j%len(tiers)])},
				{NamespaceSelector: labels("team", workloadTeam(i+1)), PodSelector: labels("app", fmt.Sprintf("a%d", (j+1)%apps))},
				{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.128.0.0/9", "10.96.0.0/12"}}},
			},
			Ports: []networkingv1.NetworkPolicyPort{
				workloadPort(corev1.ProtocolTCP, 80, 0), workloadPort(corev1.ProtocolTCP, 443, 0),
				workloadPort(corev1.ProtocolTCP, 8000, 8100),
			},
		}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{
			To:    []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}},
			Ports: []networkingv1.NetworkPolicyPort{workloadPort(corev1.ProtocolUDP, 53, 0)},
		}},
	}
	return p
}

func workloadPort(protocol corev1.Protocol, first, last int32) networkingv1.NetworkPolicyPort {
	port := intstr.FromInt32(first)
	p := networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port}
	if last != 0 {
		p.EndPort = &last
	}
	return p
}
