package advice

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// most is how many warnings one policy gets.
const most = 10

// Options configures how much a policy may cost.
type Options struct {
	// MaxFlows is how many OpenFlow flows a policy may cost a node before its author is warned; 0 does not check.
	MaxFlows int
	// Explainer computes the cost of a policy; nil if MaxFlows is 0.
	Explainer backends.Explainer
}

// Adviser holds the pods and namespaces that policies are judged by. New makes one. All methods are safe for concurrent
// use.
type Adviser struct {
	opts Options

	mu sync.Mutex
	t  *translator.Translator
}

// New makes an Adviser that knows no pods.
func New(opts Options) *Adviser {
	return &Adviser{opts: opts, t: translator.New(translator.Options{})}
}

// Put adds or replaces a Pod or a Namespace.
func (a *Adviser) Put(object any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.t.Put(object)
}

// Remove removes a Pod or a Namespace.
func (a *Adviser) Remove(kind, namespace, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.Remove(kind, namespace, name)
}

// Advise lists what the author of a policy may not have meant, in the order of its fields. It keeps nothing of the policy.
func (a *Adviser) Advise(np *networkingv1.NetworkPolicy) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		a.t.Remove(object.KindNetworkPolicy, np.Namespace, np.Name)
		a.t.Snapshot()
	}()
	policies, problems, s := a.translate(object.KindNetworkPolicy, np)
	var out []string
	for _, p := range problems {
		out = append(out, p.Field+": "+p.Message)
	}
	if len(policies) > 0 && s.Set(policies[0].Subject).Len() == 0 {
		out = append(out, "spec.podSelector: selects no pod at present")
	} else {
		out = append(out, a.ports(np)...)
	}
	out = append(out, peers(policies, s)...)
	out = append(out, blocks(np)...)
	return atMost(append(out, a.cost(policies, s)...))
}

// atMost shortens a list of warnings.
func atMost(out []string) []string {
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}

// translate returns the intents and problems of a policy of a kind, given the present pods.
func (a *Adviser) translate(kind string, np metav1.Object) ([]*intent.Policy, []object.Problem, *intent.Snapshot) {
	if a.t.Put(np) != nil {
		return nil, nil, a.t.Snapshot() // it accepts every policy
	}
	s := a.t.Snapshot()
	ref := object.Ref{Kind: kind, Namespace: np.GetNamespace(), Name: np.GetName()}
	var policies []*intent.Policy
	for p := range s.Policies() {
		if p.Origin.Ref() == ref {
			policies = append(policies, p)
		}
	}
	slices.SortFunc(policies, func(x, y *intent.Policy) int { return cmp.Compare(x.Direction, y.Direction) })
	problems := slices.DeleteFunc(a.t.Problems(), func(p object.Problem) bool { return p.Ref != ref })
	return policies, problems, s
}

// peers warns about rules whose peers match no pod.
func peers(policies []*intent.Policy, s *intent.Snapshot) []string {
	var out []string
	for _, p := range policies {
		field := map[intent.Direction]string{intent.Ingress: ".from", intent.Egress: ".to"}[p.Direction]
		for i := range p.Rules {
			r := &p.Rules[i]
			if r.Peer.Kind != intent.PeerSet {
				continue
			}
			if set := s.Set(r.Peer.Set); set.Len() == 0 && (set == nil || len(set.Prefixes) == 0) {
				out = append(out, r.Path+field+": matches nothing at present")
			}
		}
	}
	return slices.Compact(out)
}

// ports warns about named ports that no pod declares: of those selected for ingress, of the peers for egress. Each is tried
// in a policy of its own.
func (a *Adviser) ports(np *networkingv1.NetworkPolicy) []string {
	var out []string
	try := func(path string, port *networkingv1.NetworkPolicyPort, who string, spec networkingv1.NetworkPolicySpec) {
		if port.Port == nil || port.Port.Type != intstr.String {
			return
		}
		spec.PodSelector = np.Spec.PodSelector
		alone := &networkingv1.NetworkPolicy{Spec: spec}
		alone.Namespace, alone.Name = np.Namespace, np.Name
		policies, problems, _ := a.translate(object.KindNetworkPolicy, alone)
		if len(problems) == 0 && !slices.ContainsFunc(policies, func(p *intent.Policy) bool { return len(p.Rules) > 0 }) {
			out = append(out, fmt.Sprintf("%s.port: no %s declares a port %q at present", path, who, port.Port.StrVal))
		}
	}
	for i := range np.Spec.Ingress {
		for k, port := range np.Spec.Ingress[i].Ports {
			rule := networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{port}} // from any peer
			try(fmt.Sprintf("spec.ingress[%d].ports[%d]", i, k), &port, "selected pod", networkingv1.NetworkPolicySpec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{rule}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			})
		}
	}
	for i := range np.Spec.Egress {
		for k, port := range np.Spec.Egress[i].Ports {
			rule := networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{port}, To: np.Spec.Egress[i].To}
			try(fmt.Sprintf("spec.egress[%d].ports[%d]", i, k), &port, "pod of the peers", networkingv1.NetworkPolicySpec{
				Egress: []networkingv1.NetworkPolicyEgressRule{rule}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			})
		}
	}
	return out
}

// blocks warns about excepts that remove nothing, and those that leave nothing.
func blocks(np *networkingv1.NetworkPolicy) []string {
	var out []string
	look := func(path string, b *networkingv1.IPBlock) {
		if b == nil {
			return
		}
		cidr, err := netip.ParsePrefix(b.CIDR)
		if err != nil {
			return // the translator has reported it
		}
		var inside []netip.Prefix
		for i, text := range b.Except {
			e, err := netip.ParsePrefix(text)
			if err != nil {
				return // likewise
			}
			if !cidr.Overlaps(e) {
				out = append(out, fmt.Sprintf("%s.except[%d]: %s is outside of %s and takes nothing away", path, i, text, b.CIDR))
				continue
			}
			inside = append(inside, e.Masked())
		}
		if _, nothing := intent.SubtractAtMost(cidr.Masked(), inside, 0); nothing && len(inside) > 0 {
			out = append(out, fmt.Sprintf("%s.except: leaves nothing of %s", path, b.CIDR))
		}
	}
	for i := range np.Spec.Ingress {
		for k := range np.Spec.Ingress[i].From {
			look(fmt.Sprintf("spec.ingress[%d].from[%d].ipBlock", i, k), np.Spec.Ingress[i].From[k].IPBlock)
		}
	}
	for i := range np.Spec.Egress {
		for k := range np.Spec.Egress[i].To {
			look(fmt.Sprintf("spec.egress[%d].to[%d].ipBlock", i, k), np.Spec.Egress[i].To[k].IPBlock)
		}
	}
	return out
}

// cost warns about the node that a policy costs most, if that is more than allowed.
func (a *Adviser) cost(policies []*intent.Policy, s *intent.Snapshot) []string {
	if a.opts.MaxFlows == 0 || len(policies) == 0 {
		return nil
	}
	flows := map[string]int{}
	for _, row := range a.opts.Explainer.PolicyRows(s, policies[0].Origin) {
		for node, n := range row.Flows {
			flows[node] += n
		}
	}
	node, worst := "", 0
	for name, n := range flows {
		if n > worst || n == worst && name < node {
			node, worst = name, n
		}
	}
	if worst <= a.opts.MaxFlows {
		return nil
	}
	if node == "" {
		node = "a node"
	}
	return []string{fmt.Sprintf("spec: costs %s about %d OpenFlow flows, more than %d", node, worst, a.opts.MaxFlows)}
}
