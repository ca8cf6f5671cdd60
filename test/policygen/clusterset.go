package policygen

import (
	"math/rand/v2"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/test/oracle"
)

// clusterKey is the label by which selectors name clusters of a set.
const clusterKey = "netloom.io/cluster"

// Move gives most pods of a cluster addresses that a cluster moved by another number does not have.
func Move(c *oracle.Cluster, rng *rand.Rand, by uint8) {
	for _, p := range c.Pods {
		if rng.IntN(10) == 0 {
			continue
		}
		p.Status.PodIP = moved(p.Status.PodIP, by)
		for i := range p.Status.PodIPs {
			p.Status.PodIPs[i].IP = moved(p.Status.PodIPs[i].IP, by)
		}
	}
}

func moved(text string, by uint8) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Is4In6() {
		return text
	}
	raw := a.AsSlice()
	if raw[1] == 244 || a.Is6() {
		raw[1] = 100 + by
	}
	a, _ = netip.AddrFromSlice(raw)
	return a.String()
}

// NameClusters makes some selectors of a cluster's policies name clusters.
func NameClusters(c *oracle.Cluster, rng *rand.Rand, names []string) {
	n := namer{rng, names}
	for _, p := range c.Policies {
		n.nameIn(&p.Spec.PodSelector, 12)
		for i := range p.Spec.Ingress {
			n.peers(p.Spec.Ingress[i].From)
		}
		for i := range p.Spec.Egress {
			n.peers(p.Spec.Egress[i].To)
		}
	}
	for _, p := range c.ClusterPolicies {
		n.nameIn(p.Spec.Subject.Namespaces, 8)
		for i := range p.Spec.Ingress {
			for j := range p.Spec.Ingress[i].From {
				n.nameIn(p.Spec.Ingress[i].From[j].Namespaces, 2)
				n.pods(p.Spec.Ingress[i].From[j].Pods)
			}
		}
		for i := range p.Spec.Egress {
			for j := range p.Spec.Egress[i].To {
				n.nameIn(p.Spec.Egress[i].To[j].Namespaces, 2)
				n.pods(p.Spec.Egress[i].To[j].Pods)
			}
		}
	}
}

// namer adds requirements that name clusters.
type namer struct {
	rng   *rand.Rand
	names []string
}

func (n namer) pods(p *v1alpha2.NamespacedPod) {
	if p != nil {
		n.nameIn(&p.NamespaceSelector, 3)
		n.nameIn(&p.PodSelector, 3)
	}
}

func (n namer) peers(peers []networkingv1.NetworkPolicyPeer) {
	for i := range peers {
		n.nameIn(peers[i].NamespaceSelector, 3)
		n.nameIn(peers[i].PodSelector, 3)
	}
}

// nameIn adds a requirement to one of so many selectors.
func (n namer) nameIn(ls *metav1.LabelSelector, of int) {
	if ls == nil || n.rng.IntN(of) != 0 {
		return
	}
	one := n.names[n.rng.IntN(len(n.names))]
	var r metav1.LabelSelectorRequirement
	switch n.rng.IntN(5) {
	case 0:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpNotIn, Values: []string{one}}
	case 1:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpExists}
	case 2:
		other := n.names[n.rng.IntN(len(n.names))]
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpIn, Values: []string{one, other}}
	case 3:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpDoesNotExist}
	default:
		r = metav1.LabelSelectorRequirement{Operator: metav1.LabelSelectorOpIn, Values: []string{one}}
	}
	r.Key = clusterKey
	ls.MatchExpressions = append(ls.MatchExpressions, r)
}
