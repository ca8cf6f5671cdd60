package policy

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/sets"
)

// portList is the content of a rule's ports: the union of its elements.
type portList struct {
	numeric intent.Ports
	named   []labelcache.PortMatch // in the order of the rule, each once
}

// numbered reports whether some ports are given by numbers.
func (l *portList) numbered() bool { return l.numeric.Any || len(l.numeric.Ranges) > 0 }

// parsePorts parses the ports of a rule. No port at all means every protocol and port; an element that cannot be
// understood is reported and matches nothing.
func (p *networkPolicy) parsePorts(r rule) portList {
	if len(r.ports) == 0 {
		return portList{numeric: intent.Ports{Any: true}}
	}
	var list portList
	seen := map[labelcache.PortMatch]bool{}
	for i := range r.ports {
		path := fmt.Sprintf("%s.ports[%d]", r.path, i)
		port := &r.ports[i]
		proto, ok := field.Protocol(port.Protocol)
		if !ok {
			p.Add(path+".protocol", "%q: expected TCP, UDP or SCTP; the element matches nothing", *port.Protocol)
			continue
		}
		if port.Port != nil && port.Port.Type == intstr.String {
			match := labelcache.PortMatch{Name: port.Port.StrVal, Protocol: labelcache.Protocol(proto)}
			if p.checkNamed(path, port) && !seen[match] {
				seen[match] = true
				list.named = append(list.named, match)
			}
			continue
		}
		if first, last, ok := p.parseRange(path, port); ok {
			list.numeric.Ranges = append(list.numeric.Ranges, intent.PortRange{Protocol: proto, First: first, Last: last})
		}
	}
	list.numeric.Ranges = intent.MergePorts(list.numeric.Ranges)
	p.account.Spend(budget.Ports, len(list.numeric.Ranges))
	return list
}

func (p *networkPolicy) checkNamed(path string, port *networkingv1.NetworkPolicyPort) bool {
	switch {
	case port.Port.StrVal == "":
		p.Add(path+".port", "expected a port name that is not empty; the element matches nothing")
	case port.EndPort != nil:
		p.Add(path+".endPort", "not allowed with a named port; the element matches nothing")
	default:
		return true
	}
	return false
}

// parseRange parses port and endPort, both inclusive. Without a port, it is every port of the protocol.
func (p *networkPolicy) parseRange(path string, port *networkingv1.NetworkPolicyPort) (first, last uint16, ok bool) {
	if port.Port == nil {
		if port.EndPort != nil {
			p.Add(path+".endPort", "needs a port; the element matches nothing")
			return 0, 0, false
		}
		return 0, 65535, true
	}
	from, to := port.Port.IntVal, port.Port.IntVal
	if port.EndPort != nil {
		to = *port.EndPort
	}
	if from < 1 || from > 65535 {
		p.Add(path+".port", "%d: expected 1 to 65535; the element matches nothing", from)
		return 0, 0, false
	}
	if to < from || to > 65535 {
		p.Add(path+".endPort", "%d: expected %d to 65535; the element matches nothing", to, from)
		return 0, 0, false
	}
	return uint16(from), uint16(to), true
}

// namedIngress resolves a named port on the pods that the policy selects: one rule for each number, for those of them
// that declare the name with that number.
func (p *translation) namedIngress(like intent.Rule, peers peerList, name labelcache.PortMatch) []intent.Rule {
	if peers.all != nil && peers.all.Empty() {
		return nil // no peer matches: there is no need to know the subjects
	}
	cost := resolution{selectors: 1, values: p.subjectValues}
	if !p.resolve(cost, 1) {
		return nil
	}
	subject := []labelcache.Selection{p.subject}
	numbers := p.sets.Numbers(&p.out.refs, p.sets.Subjects(withPort(subject, name)))
	if !p.resolve(cost, len(numbers)) {
		return nil
	}
	var rules []intent.Rule
	for _, n := range numbers {
		name.Number = n
		like.Subject, like.Peer, like.Ports = p.retain(p.sets.Subjects(withPort(subject, name))), p.peer(peers.all), exactly(name)
		rules = append(rules, like)
	}
	return rules
}

// namedEgress resolves a named port on the peers: one rule for each number, towards those of them that declare the name
// with that number. Addresses outside the cluster have no names; an ipBlock selects the pods inside it.
func (p *translation) namedEgress(like intent.Rule, peers peerList, name labelcache.PortMatch) []intent.Rule {
	selections := peers.selections
	if peers.anyone {
		selections = []labelcache.Selection{p.everyPod()}
	}
	rules := p.namedEgressTo(like, sets.Spec{}, selections, peers.values, name)
	if len(peers.prefixes) > 0 {
		rules = append(rules, p.namedEgressTo(like, sets.Spec{Within: peers.prefixes}, []labelcache.Selection{p.everyPod()}, 0, name)...)
	}
	return rules
}

func (p *translation) namedEgressTo(
	like intent.Rule, spec sets.Spec, selections []labelcache.Selection, values int, name labelcache.PortMatch,
) []intent.Rule {
	cost := resolution{selectors: len(selections), values: values, prefixes: len(spec.Within)}
	if len(selections) == 0 || !p.resolve(cost, 1) {
		return nil
	}
	numbers := p.sets.Numbers(&p.out.refs, sets.Spec{Terms: withPort(selections, name)})
	if !p.resolve(cost, len(numbers)) {
		return nil
	}
	var rules []intent.Rule
	for _, n := range numbers {
		name.Number = n
		spec.Terms = withPort(selections, name)
		like.Peer, like.Ports = p.peer(&spec), exactly(name)
		rules = append(rules, like)
	}
	return rules
}

// resolution is the cost of one set of endpoints that declare a named port.
type resolution struct{ selectors, values, prefixes int }

// resolve reports whether the budget allows that many sets and rules.
func (p *translation) resolve(each resolution, times int) bool {
	return p.account.Spend(budget.Selectors, each.selectors*times) && p.account.Spend(budget.Values, each.values*times) &&
		p.account.Spend(budget.Prefixes, each.prefixes*times) && p.account.Spend(budget.Rules, times)
}

func withPort(selections []labelcache.Selection, port labelcache.PortMatch) []labelcache.Term {
	terms := make([]labelcache.Term, len(selections))
	for i, s := range selections {
		s.Port = port
		terms[i] = labelcache.NewTerm(s)
	}
	return terms
}

func exactly(port labelcache.PortMatch) intent.Ports {
	return intent.Ports{Ranges: []intent.PortRange{{
		Protocol: intent.Protocol(port.Protocol), First: port.Number, Last: port.Number,
	}}}
}
