package lint

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// maxNamingPods is how many pods are asked for the names of their ports when one is unknown.
const maxNamingPods = 1000

// part is a peer or a named port of a policy that is judged alone.
type part struct {
	direction intent.Direction
	rule      int // its number among the rules of the direction
	peer      *networkingv1.NetworkPolicyPeer
	port      *networkingv1.NetworkPolicyPort
	field     string
	trial     string // the path of the rule that it alone became
}

// parts judges every selector of a peer and every named port of a policy alone: in a policy with a rule for each of them.
func (c *Checker) parts(ref object.Ref, np *networkingv1.NetworkPolicy, unselected bool, spell *speller) []Finding {
	parts, trial := split(np, unselected)
	if len(parts) == 0 {
		return nil
	}
	x := c.translate(ref, trial)
	rules := map[string]bool{} // those that match something
	for _, p := range x.policies {
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Peer.Kind == intent.PeerAny || r.Peer.Kind == intent.PeerSet && !x.isEmpty(r.Peer.Set) {
				rules[r.Path] = true
			}
		}
	}
	faulty := func(path string) bool { // it was found when the policy itself was translated
		return slices.ContainsFunc(x.faults, func(p object.Problem) bool {
			return p.Field == "" || p.Field == "spec" || strings.HasPrefix(p.Field+".", path+".")
		})
	}
	var out []Finding
	peers := map[[2]int]bool{} // the rules with a peer that matches something
	for i := range parts {
		if p := &parts[i]; p.peer != nil && rules[p.trial] {
			peers[[2]int{int(p.direction), p.rule}] = true
		}
	}
	for i := range parts {
		p := &parts[i]
		switch {
		case rules[p.trial] || faulty(p.trial):
		case p.peer != nil && p.peer.IPBlock == nil:
			found := c.unmatched(ref, p.field, p.peer, spell)
			if found.Rule != UnknownPods || p.direction != intent.Egress || !onlyDNS(np.Spec.Egress[p.rule].Ports) { // a resolver is hardly ever declared
				out = append(out, found)
			}
		case p.port != nil && p.direction == intent.Ingress:
			out = append(out, newFinding(UnknownPort, ref, p.field, fmt.Sprintf("no selected pod declares a port %q at present%s",
				p.port.Port.StrVal, portHint(p.port.Port.StrVal, x.portNames(spell.view)))))
		case p.port != nil && (len(np.Spec.Egress[p.rule].To) == 0 || peers[[2]int{int(intent.Egress), p.rule}]):
			out = append(out, newFinding(UnknownPort, ref, p.field,
				fmt.Sprintf("no pod of the peers declares a port %q at present", p.port.Port.StrVal)))
		}
	}
	return out
}

// split lists the parts of a policy, and makes the policy with a rule for each of them. Without selected pods named ports of
// ingress have no meaning.
func split(np *networkingv1.NetworkPolicy, unselected bool) ([]part, *networkingv1.NetworkPolicy) {
	trial := &networkingv1.NetworkPolicy{}
	trial.Namespace, trial.Name = np.Namespace, np.Name
	trial.Spec.PodSelector = np.Spec.PodSelector
	trial.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	var parts []part
	for i := range np.Spec.Ingress {
		r := &np.Spec.Ingress[i]
		try := func(p part, rule networkingv1.NetworkPolicyIngressRule) {
			p.rule, p.trial = i, fmt.Sprintf("spec.ingress[%d]", len(trial.Spec.Ingress))
			parts, trial.Spec.Ingress = append(parts, p), append(trial.Spec.Ingress, rule)
		}
		for k := range r.From {
			try(part{peer: &r.From[k], field: fmt.Sprintf("spec.ingress[%d].from[%d]", i, k)},
				networkingv1.NetworkPolicyIngressRule{From: r.From[k : k+1]})
		}
		for k := range r.Ports {
			if isNamed(&r.Ports[k]) && !unselected {
				try(part{port: &r.Ports[k], field: fmt.Sprintf("spec.ingress[%d].ports[%d].port", i, k)},
					networkingv1.NetworkPolicyIngressRule{Ports: r.Ports[k : k+1]}) // from any peer
			}
		}
	}
	for i := range np.Spec.Egress {
		r := &np.Spec.Egress[i]
		try := func(p part, rule networkingv1.NetworkPolicyEgressRule) {
			p.direction, p.rule, p.trial = intent.Egress, i, fmt.Sprintf("spec.egress[%d]", len(trial.Spec.Egress))
			parts, trial.Spec.Egress = append(parts, p), append(trial.Spec.Egress, rule)
		}
		for k := range r.To {
			try(part{peer: &r.To[k], field: fmt.Sprintf("spec.egress[%d].to[%d]", i, k)},
				networkingv1.NetworkPolicyEgressRule{To: r.To[k : k+1]})
		}
		for k := range r.Ports {
			if isNamed(&r.Ports[k]) && !unselected {
				try(part{port: &r.Ports[k], field: fmt.Sprintf("spec.egress[%d].ports[%d].port", i, k)},
					networkingv1.NetworkPolicyEgressRule{Ports: r.Ports[k : k+1], To: r.To})
			}
		}
	}
	return parts, trial
}

func isNamed(p *networkingv1.NetworkPolicyPort) bool {
	return p.Port != nil && p.Port.Type == intstr.String
}

// portNames lists the named ports of the pods that the policy selects; none if there are too many.
func (x *translation) portNames(view labelcache.View) []string {
	if len(x.policies) == 0 {
		return nil
	}
	set := x.snapshot.Set(x.policies[0].Subject)
	if set.Len() == 0 || set.Len() > maxNamingPods {
		return nil
	}
	var out []string
	for member := range set.Members.All() {
		if e, ok := view.Endpoint(member.Key); ok {
			for _, port := range e.Ports {
				out = append(out, port.Name)
			}
		}
	}
	return out
}

// portHint suggests another name in place of one that pods do not declare with its protocol.
func portHint(name string, declared []string) string {
	if slices.Contains(declared, name) {
		return "; it is declared with another protocol"
	}
	return nearest(name, declared)
}

// peer suggests a correction of a peer without pods.
func (s *speller) peer(namespace string, p *networkingv1.NetworkPolicyPeer) string {
	if p.NamespaceSelector == nil {
		return s.suggest(labelcache.PodLabel, namespace, p.PodSelector)
	}
	if hint := s.suggest(labelcache.NamespaceLabel, "", p.NamespaceSelector); hint != "" {
		return hint
	}
	return s.suggest(labelcache.PodLabel, "", p.PodSelector)
}
