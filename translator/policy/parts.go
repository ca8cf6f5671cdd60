package policy

import (
	"cmp"
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
	all          *sets.Spec  // the peers as one set; nil is any
	peers        []sets.Spec // named, each once, those of blocks as one; nil is any
}

// division is how a rule is divided.
type division struct {
	worth []sets.Spec // the peers that are worth sharing
	rest  *rest       // of the others, nil if there are none
}

// rest is the remainder of a rule without the peers that are worth sharing.
type rest struct {
	peer intent.Peer
	set  *sets.Spec // nil with any peer
}

// parts is how the rules of a result are divided.
type parts struct {
	refs    sets.Refs
	counted bool  // what the rules allow counts
	uses    []use // of peers
	rests   []use
}

// each returns the peers as the sets of a divisible rule; nil means any.
func (l *peerList) each() []sets.Spec {
	if l.anyone {
		return nil
	}
	if len(l.all.Terms)+len(l.hosts) == 0 && len(l.prefixes) > 0 {
		return []sets.Spec{*l.all}
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

// peerOf returns the peer of a set.
func peerOf(s *sets.Spec) intent.Peer { return intent.Peer{Kind: intent.PeerSet, Set: s.ID()} }

// uses lists what the divisible rules allow, peer by peer, each once: of several rules the one with the fewest peers. Rules with equal lists
// count once: they can share the whole list. So any peer, which is a list of its own, is only ever the rest of a rule.
func (r *result) uses() []use {
	var out []use
	at := map[intent.SetID]int{}
	for i := range r.divisible {
		d := &r.divisible[i]
		direction, rule := r.policies[d.policy].Direction, &r.policies[d.policy].Rules[d.rule]
		for j := range d.peers {
			u := use{intent.SharedSet(direction, peerOf(&d.peers[j]), rule.Ports), rule.Peer.Set, len(d.peers)}
			if k, twice := at[u.what]; !twice {
				at[u.what] = len(out)
				out = append(out, u)
			} else if cmp.Or(cmp.Compare(u.among, out[k].among), cmp.Compare(u.of, out[k].of)) < 0 {
				out[k] = u
			}
		}
	}
	return out
}

// share causes the rules of an object that replaces old to be divided. If it has none, it no longer has anything in common with others.
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

// divideAll divides the rules whose division may have changed. Their remainders may in turn be worth sharing, which does not depend on any
// further division.
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

// count counts the parts that an object has in common with others while snapshots show it: parts that affect no pod of the own node are not
// worth sharing there.
func (t *Table) count(ref object.Ref, r *result) {
	var now []use
	if r.parts.counted = t.sets.Shows(&r.refs); r.parts.counted {
		now = r.uses()
	}
	t.common.replace(ref, r.parts.uses, now, t.divideAgain)
	r.parts.uses = now
}

// divide divides the rules of one object. Its policies are replaced, as a snapshot may have them.
func (t *Table) divide(ref object.Ref, r *result) {
	now := &parts{counted: r.parts.counted, uses: r.parts.uses}
	divisions := make([]division, len(r.divisible))
	for i := range r.divisible {
		d := &r.divisible[i]
		policy := r.policies[d.policy]
		divisions[i] = t.division(policy, d)
		if rest := divisions[i].rest; rest != nil && now.counted {
			now.rests = append(now.rests, use{rest.shared(policy, d), policy.Subject, 1})
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
		by := t.partsOf(&now.refs, r.subject, policy, d, &divisions[i])
		t.retainPeers(&now.refs, d, by)
		policy.Rules[d.rule].Parts = by
	}
	t.sets.Replace(ref, &r.parts.refs, nil)
	r.parts = now
	t.dirty.Add(dirty.Settlement, ref)
}

// shared returns the set of the subjects of all rules with such a rest.
func (r *rest) shared(policy *intent.Policy, d *divisible) intent.SetID {
	return intent.SharedSet(policy.Direction, r.peer, policy.Rules[d.rule].Ports)
}

// division splits off the parts of a rule that are worth sharing.
func (t *Table) division(policy *intent.Policy, d *divisible) division {
	if d.peers == nil {
		return division{rest: &rest{peer: intent.Peer{Kind: intent.PeerAny}}}
	}
	var out division
	var left []sets.Spec
	for i := range d.peers {
		if t.common.worth(intent.SharedSet(policy.Direction, peerOf(&d.peers[i]), policy.Rules[d.rule].Ports)) {
			out.worth = append(out.worth, d.peers[i])
		} else {
			left = append(left, d.peers[i])
		}
	}
	if len(left) > 0 {
		set := sets.Union(left)
		out.rest = &rest{peerOf(&set), &set}
	}
	return out
}

// retainPeers retains the set of all peers of a divided rule: with members of its own if some target renders it.
func (t *Table) retainPeers(refs *sets.Refs, d *divisible, by []intent.Part) {
	if d.all == nil {
		return
	}
	if len(by) == 0 || !t.partsOnly {
		t.sets.Retain(refs, *d.all)
		return
	}
	of := make([]intent.SetID, len(by))
	for i := range by {
		of[i] = by[i].Peer.Set
	}
	if !slices.Contains(of, d.all.ID()) { // all of it is shared whole
		t.sets.RetainUnion(refs, *d.all, of)
	}
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
	for i := range by.worth {
		t.sets.Retain(refs, by.worth[i])
		share(peerOf(&by.worth[i]), by.worth[i].Title())
	}
	if by.rest == nil {
		return out
	}
	worth, title := t.rests.worth(by.rest.shared(policy, d)), "anywhere"
	if by.rest.set != nil && (worth || len(out) > 0) {
		t.sets.Retain(refs, *by.rest.set)
		title = by.rest.set.Title()
	}
	switch {
	case worth:
		share(by.rest.peer, title)
	case len(out) > 0:
		out = append(out, intent.Part{Peer: by.rest.peer})
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
