package suggest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// policies returns the policies for the needs, ordered by namespace and name.
func (w *cluster) policies(n *needs) []*networkingv1.NetworkPolicy {
	w.taken = maps.Clone(w.existing)
	var out []*networkingv1.NetworkPolicy
	for _, d := range intent.Directions() {
		for _, group := range n.alike(d) {
			var subjects []*labelcache.Endpoint
			for _, of := range group {
				subjects = append(subjects, of.pod)
			}
			namespace := subjects[0].Key.Namespace
			rules, peers := w.rules(namespace, group[0])
			for _, s := range selectionsOf(w.byNamespace[namespace], subjects) {
				out = append(out, w.policy(namespace, d, &s, rules, peers))
			}
		}
	}
	slices.SortFunc(out, func(a, b *networkingv1.NetworkPolicy) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return out
}

// rule is what a policy allows with some peers.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// rules returns the rules for a need, one for each set of ports, and a title of their peers.
func (w *cluster) rules(namespace string, n *need) ([]rule, string) {
	byPorts := map[string][]peer{}
	for _, p := range n.peers() {
		text := n.allowed[p].String()
		byPorts[text] = append(byPorts[text], p)
	}
	var out []rule
	titles := map[string]bool{}
	for _, text := range slices.Sorted(maps.Keys(byPorts)) {
		list := byPorts[text]
		r := rule{ports: portsOf(n.allowed[list[0]])}
		pods := map[string][]*labelcache.Endpoint{}
		var addrs []netip.Prefix
		for _, p := range list {
			if p.pod == (object.Key{}) {
				addrs = append(addrs, netip.PrefixFrom(p.addr, p.addr.BitLen()))
				titles["outside"] = true
				continue
			}
			pods[p.pod.Namespace] = append(pods[p.pod.Namespace], w.pods[p.pod])
		}
		for _, of := range slices.Sorted(maps.Keys(pods)) {
			for _, s := range selectionsOf(w.byNamespace[of], pods[of]) {
				to := networkingv1.NetworkPolicyPeer{PodSelector: s.selector.DeepCopy()}
				if of != namespace {
					to.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: of}}
				}
				titles[s.title()] = true
				r.peers = append(r.peers, to)
			}
		}
		for _, prefix := range intent.MergePrefixes(addrs) {
			r.peers = append(r.peers, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: prefix.String()}})
		}
		out = append(out, r)
	}
	if len(titles) > 1 {
		return out, "several"
	}
	return out, slices.Collect(maps.Keys(titles))[0]
}

func portsOf(t reach.Traffic) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, r := range t.Ranges {
		protocol, port := corev1.Protocol(strings.ToUpper(r.Protocol.String())), intstr.FromInt32(int32(r.First))
		p := networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port}
		if r.Last > r.First {
			last := int32(r.Last)
			p.EndPort = &last
		}
		out = append(out, p)
	}
	return out
}

func (w *cluster) policy(namespace string, d intent.Direction, s *selection, rules []rule, peers string) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: *s.selector.DeepCopy()},
	}
	word := "to"
	if d == intent.Ingress {
		word = "from"
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		for _, r := range rules {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: r.peers, Ports: r.ports})
		}
	} else {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
		for _, r := range rules {
			p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: r.peers, Ports: r.ports})
		}
	}
	p.Name = w.free(namespace, s.title()+"-"+word+"-"+peers)
	return p
}

// maxName leaves room for a number within the 63 characters that a log shows of an ACL.
const maxName = 40

// free returns a name that no policy of the namespace has, and takes it.
func (w *cluster) free(namespace, wish string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, wish)
	if len(clean) > maxName {
		clean = clean[:maxName]
	}
	clean = "allow-" + strings.Trim(clean, "-")
	name := clean
	for n := 2; w.taken[namespace+"/"+name]; n++ {
		name = fmt.Sprintf("%s-%d", clean, n)
	}
	w.taken[namespace+"/"+name] = true
	return name
}
