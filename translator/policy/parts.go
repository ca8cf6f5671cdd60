package policy

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/sets"
)

// divisible is a rule that may have parts, see intent.Rule.Parts.
type divisible struct {
	policy, rule int         // their indexes
	peers        []sets.Spec // named, each once, those of blocks as one; nil is any
}

// division is how a rule is divided: what is worth sharing, and the rest, which has no parts.
type division struct {
	worth []sets.Spec // nil with any
	any   bool        // what is worth sharing is any peer
	rest  []sets.Spec // one set, or none
}

// parts is how the rules of a result are divided.
type parts struct {
	refs  sets.Refs
	uses  []use // of peers, that count
	rests []use // of what is left of lists
}

// each returns the peers as the sets of a divisible rule; nil means any.
func (l *peerList) each() []sets.Spec {
	if l.anyone {
		return nil
	}
	out := make([]sets.Spec, 0, len(l.selections)+1)
	for _, term := range l.all.Terms {
		out = append(out, sets.Spec{Terms: []labelcache.Term{term}}.Named())
	}
	if len(l.prefixes) > 0 {
		out = append(out, sets.Spec{Prefixes: l.prefixes}.Named())
	}
	return out
}

// peer returns the peer of a set.
func peerOf(s *sets.Spec) intent.Peer { return intent.Peer{Kind: intent.PeerSet, Set: s.ID()} }

// uses lists what the divisible rules allow, peer by peer.
func (r *result) uses() []use {
	var out []use
	for i := range r.divisible {
		d := &r.divisible[i]
		policy := r.policies[d.policy]
		add := func(peer intent.Peer) {
			out = append(out, use{intent.SharedSet(policy.Direction, peer, policy.Rules[d.rule].Ports), policy.Subject, max(len(d.peers), 1)})
		}
		if d.peers == nil {
			add(intent.Peer{Kind: intent.PeerAny})
		}
		for j := range d.peers {
			add(peerOf(&d.peers[j]))
		}
	}
	return out
}

// share has the rules of an object divided that replaces old. If it has none, nothing is in common with it any more.
func (t *Table) share(ref object.Ref, old, now *result) {
	was := &parts{}
	if old != nil && old.parts != nil {
		was = old.parts
		t.sets.Replace(ref, &was.refs, nil)
	}
	if now != nil && len(now.divisible) > 0 {
		now.parts = &parts{uses: was.uses, rests: was.rests}
		t.divideAgain(ref)
		return
	}
	t.common.replace(ref, was.uses, nil, t.divideAgain)
	t.rests.replace(ref, was.rests, nil, t.divideAgain)
}

func (t *Table) divideAgain(ref object.Ref) { t.dirty.Add(dirty.Parts, ref) }

// divideAll divides the rules that may be divided in another way than before. What is left of one may in turn be worth sharing with
// what is left of others, which depends on no further division.
func (t *Table) divideAll() {
	for t.dirty.Len(dirty.Parts) > 0 {
		for _, ref := range t.dirty.Take(dirty.Parts, object.Ref.Compare) {
			if r := t.translated[ref]; r != nil && r.parts != nil {
				t.divideAgain(ref)
				t.count(ref, r)
			}
		}
		for _, ref := range t.dirty.Take(dirty.Parts, object.Ref.Compare) {
			if r := t.translated[ref]; r != nil && r.parts != nil {
				t.divide(ref, r)
			}
		}
	}
}

// count counts what an object has in common with others while snapshots show it: what concerns no pod of the own node is not worth
// sharing there.
func (t *Table) count(ref object.Ref, r *result) {
	var now []use
	if t.sets.Shows(&r.refs) {
		now = r.uses()
	}
	t.common.replace(ref, r.parts.uses, now, t.divideAgain)
	r.parts.uses = now
}

// divide divides the rules of one object. Its policies are replaced, as a snapshot may have them.
func (t *Table) divide(ref object.Ref, r *result) {
	now := &parts{uses: r.parts.uses}
	divisions := make([]division, len(r.divisible))
	for i := range r.divisible {
		d := &r.divisible[i]
		divisions[i] = t.division(r.policies[d.policy], d)
		if len(now.uses) == 0 {
			continue
		}
		for j := range divisions[i].rest {
			policy := r.policies[d.policy]
			now.rests = append(now.rests, use{restOf(policy, d, &divisions[i].rest[j]), policy.Subject, 1})
		}
	}
	t.rests.replace(ref, r.parts.rests, now.rests, t.divideAgain)
	r.policies = slices.Clone(r.policies)
	for i, policy := range r.policies {
		copied := *policy
		copied.Rules = slices.Clone(policy.Rules)
		r.policies[i] = &copied
	}
	for i := range r.divisible {
		d := &r.divisible[i]
		policy := r.policies[d.policy]
		policy.Rules[d.rule].Parts = t.partsOf(&now.refs, r.subject, policy, d, &divisions[i])
	}
	t.sets.Replace(ref, &r.parts.refs, nil)
	r.parts = now
	t.dirty.Add(dirty.Settlement, ref)
}

func restOf(policy *intent.Policy, d *divisible, rest *sets.Spec) intent.SetID {
	return intent.SharedSet(policy.Direction, peerOf(rest), policy.Rules[d.rule].Ports)
}

// division divides a rule by what is worth sharing.
func (t *Table) division(policy *intent.Policy, d *divisible) division {
	worth := func(peer intent.Peer) bool {
		return t.common.worth(intent.SharedSet(policy.Direction, peer, policy.Rules[d.rule].Ports))
	}
	var out division
	if d.peers == nil {
		out.any = worth(intent.Peer{Kind: intent.PeerAny})
	}
	var rest []sets.Spec
	for i := range d.peers {
		if worth(peerOf(&d.peers[i])) {
			out.worth = append(out.worth, d.peers[i])
		} else {
			rest = append(rest, d.peers[i])
		}
	}
	if len(rest) > 0 {
		out.rest = []sets.Spec{sets.Union(rest)}
	}
	return out
}

// partsOf returns the parts of a divided rule and retains their sets; nil if nothing is worth sharing.
func (t *Table) partsOf(refs *sets.Refs, subject labelcache.Term, policy *intent.Policy, d *divisible, by *division) []intent.Part {
	rule := &policy.Rules[d.rule]
	var out []intent.Part
	share := func(peer intent.Peer, title string) {
		id := intent.SharedSet(policy.Direction, peer, rule.Ports)
		t.sets.Share(refs, id, sharedTitle(policy.Direction, title, rule.Ports), subject)
		out = append(out, intent.Part{Shared: id, Peer: peer})
	}
	if by.any {
		share(intent.Peer{Kind: intent.PeerAny}, "anywhere")
	}
	for i := range by.worth {
		t.sets.Retain(refs, by.worth[i])
		share(peerOf(&by.worth[i]), by.worth[i].Title())
	}
	for i := range by.rest {
		rest := &by.rest[i]
		switch {
		case t.rests.worth(restOf(policy, d, rest)):
			t.sets.Retain(refs, *rest)
			share(peerOf(rest), rest.Title())
		case len(out) > 0:
			t.sets.Retain(refs, *rest)
			out = append(out, intent.Part{Peer: peerOf(rest)})
		}
	}
	return out
}

// shownPorts is how many port ranges the title of a shared set names.
const shownPorts = 4

// sharedTitle returns the display name of the set of all endpoints with such a rule.
func sharedTitle(d intent.Direction, peer string, ports intent.Ports) string {
	words := []string{"every pod with an", d.String(), "rule", "from", peer}
	if d == intent.Egress {
		words[3] = "to"
	}
	if list := ports.Strings(); !ports.Any {
		words = append(words, "on", strings.Join(list[:min(len(list), shownPorts)], ", "))
		if len(list) > shownPorts {
			words = append(words, "…")
		}
	}
	return strings.Join(words, " ")
}
