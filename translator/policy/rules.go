package policy

import (
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/sets"
)

// rules returns one rule for all numeric ports, and one more for each number that a named port resolves to. Like is what they
// have in common.
func (p *translation) rules(d intent.Direction, like intent.Rule, peers peerList, ports portList) []intent.Rule {
	var rules []intent.Rule
	if ports.numbered() {
		like.Peer, like.Ports = p.peerOf(peers), ports.numeric
		rules = append(rules, like)
	}
	for _, name := range ports.named {
		if d == intent.Ingress {
			rules = append(rules, p.namedIngress(like, peers, name)...)
		} else {
			rules = append(rules, p.namedEgress(like, peers, name.PortMatch)...)
		}
	}
	return slices.DeleteFunc(rules, func(r intent.Rule) bool { return r.Peer.Kind == intent.PeerNone })
}

// peerOf returns the peer for a list of peers.
func (p *translation) peerOf(l peerList) intent.Peer {
	if l.divided && l.all != nil {
		return peerOf(l.all)
	}
	return p.peer(l.all)
}

// namedIngress resolves a named port on the pods that the policy selects: one rule for each number, for those of them
// that declare the name with that number. Without any, the port is among those that the policy reports as undeclared.
func (p *translation) namedIngress(like intent.Rule, peers peerList, port namedPort) []intent.Rule {
	if peers.all != nil && peers.all.Empty() {
		return nil // no peer matches: there is no need to know the subjects
	}
	cost := resolution{selectors: 1, values: p.subjectValues}
	if !p.resolve(cost, 1) {
		return nil
	}
	name, subject := port.PortMatch, []labelcache.Selection{p.subject}
	numbers := p.sets.Numbers(&p.out.refs, p.sets.Subjects(withPort(subject, name)))
	if !p.resolve(cost, len(numbers)) {
		return nil
	}
	if len(numbers) == 0 && port.field != "" {
		p.undeclared = append(p.undeclared, intent.UndeclaredPort{
			Path: like.Path, Field: port.field, Name: name.Name, Protocol: intent.Protocol(name.Protocol),
		})
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
		selections = []labelcache.Selection{everyPod(p.source)}
	}
	rules := p.namedEgressTo(like, sets.Spec{Contested: peers.denied}, selections, peers.values, name)
	if len(peers.prefixes) > 0 {
		rules = append(rules, p.namedEgressTo(like, sets.Spec{Within: peers.prefixes, Contested: peers.denied}, []labelcache.Selection{everyPod(p.source)}, 0, name)...)
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
