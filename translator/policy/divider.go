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

// divider divides the rules of policies into parts that they have in common with others, see intent.Rule.Parts.
type divider struct {
	sets      *sets.Table
	dirty     *dirty.Queue
	common    sharing // what rules allow, peer by peer
	rests     sharing // what is left of rules without what is worth sharing of that
	partsOnly bool    // see translator.Options
}

func newDivider(s *sets.Table, queue *dirty.Queue, partsOnly bool) *divider {
	return &divider{sets: s, dirty: queue, common: newSharing(), rests: newSharing(), partsOnly: partsOnly}
}

// share causes the rules of an object that replaces old to be divided. If it has none, it no longer has anything in common with others.
func (v *divider) share(ref object.Ref, old, now *result) {
	was := &parts{}
	if old != nil && old.parts != nil {
		was = old.parts
		v.sets.Replace(ref, &was.refs, nil)
	}
	if now != nil && len(now.divisible) > 0 {
		now.parts = &parts{uses: was.uses, rests: was.rests}
		v.divideAgain(ref)
		return
	}
	v.common.replace(ref, was.uses, nil, v.divideAgain)
	v.rests.replace(ref, was.rests, nil, v.divideAgain)
}

func (v *divider) divideAgain(ref object.Ref) { v.dirty.Add(dirty.Parts, ref) }

// divideAll divides the rules of the results whose division may have changed. Their remainders may in turn be worth sharing, which does not
// depend on any further division.
func (v *divider) divideAll(results map[object.Ref]*result) {
	for v.dirty.Len(dirty.Parts) > 0 {
		for _, ref := range v.dirty.Take(dirty.Parts, object.Ref.Compare) {
			if r := results[ref]; r != nil && r.parts != nil {
				v.divideAgain(ref)
				v.count(ref, r)
			}
		}
		for _, ref := range v.dirty.Take(dirty.Parts, object.Ref.Compare) {
			if r := results[ref]; r != nil && r.parts != nil {
				v.divide(ref, r)
			}
		}
	}
}

// count counts the parts that an object has in common with others while snapshots show it: parts that affect no pod of the own node are not
// worth sharing there.
func (v *divider) count(ref object.Ref, r *result) {
	var now []use
	if r.parts.counted = v.sets.Shows(&r.refs); r.parts.counted {
		now = r.uses()
	}
	v.common.replace(ref, r.parts.uses, now, v.divideAgain)
	r.parts.uses = now
}

// divide divides the rules of one object. Its policies are replaced, as a snapshot may have them.
func (v *divider) divide(ref object.Ref, r *result) {
	now := &parts{counted: r.parts.counted, uses: r.parts.uses}
	divisions := make([]division, len(r.divisible))
	for i := range r.divisible {
		d := &r.divisible[i]
		policy := r.policies[d.policy]
		divisions[i] = v.division(policy, d)
		if rest := divisions[i].rest; rest != nil && now.counted {
			now.rests = append(now.rests, use{rest.shared(policy, d), policy.Subject, 1})
		}
	}
	v.rests.replace(ref, r.parts.rests, now.rests, v.divideAgain)
	r.policies = slices.Clone(r.policies)
	for i, policy := range r.policies {
		copied := *policy
		copied.Rules = slices.Clone(policy.Rules)
		r.policies[i] = &copied
	}
	for i := range r.divisible {
		d := &r.divisible[i]
		policy := r.policies[d.policy]
		by := v.partsOf(&now.refs, r.subject, policy, d, &divisions[i])
		v.retainPeers(&now.refs, d, by)
		policy.Rules[d.rule].Parts = by
	}
	v.sets.Replace(ref, &r.parts.refs, nil)
	r.parts = now
	v.dirty.Add(dirty.Settlement, ref)
}

// shared returns the set of the subjects of all rules with such a rest.
func (r *rest) shared(policy *intent.Policy, d *divisible) intent.SetID {
	return intent.SharedSet(policy.Direction, r.peer, policy.Rules[d.rule].Ports)
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

// division splits off the parts of a rule that are worth sharing.
func (v *divider) division(policy *intent.Policy, d *divisible) division {
	if d.peers == nil {
		return division{rest: &rest{peer: intent.Peer{Kind: intent.PeerAny}}}
	}
	var out division
	var left []sets.Spec
	for i := range d.peers {
		if v.common.worth(intent.SharedSet(policy.Direction, peerOf(&d.peers[i]), policy.Rules[d.rule].Ports)) {
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

// partsOf returns the parts of a divided rule and retains their sets; nil if nothing is worth sharing.
func (v *divider) partsOf(refs *sets.Refs, subject labelcache.Term, policy *intent.Policy, d *divisible, by *division) []intent.Part {
	rule := &policy.Rules[d.rule]
	var out []intent.Part
	share := func(peer intent.Peer, title string) {
		id := intent.SharedSet(policy.Direction, peer, rule.Ports)
		v.sets.Share(refs, id, sharedTitle(policy.Direction, title, rule.Ports), subject)
		out = append(out, intent.Part{Shared: id, Peer: peer})
	}
	for i := range by.worth {
		v.sets.Retain(refs, by.worth[i])
		share(peerOf(&by.worth[i]), by.worth[i].Title())
	}
	if by.rest == nil {
		return out
	}
	worth, title := v.rests.worth(by.rest.shared(policy, d)), "anywhere"
	if by.rest.set != nil && (worth || len(out) > 0) {
		v.sets.Retain(refs, *by.rest.set)
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

// retainPeers retains the set of all peers of a divided rule: with members of its own if some target renders it.
func (v *divider) retainPeers(refs *sets.Refs, d *divisible, by []intent.Part) {
	if d.all == nil {
		return
	}
	if len(by) == 0 || !v.partsOnly {
		v.sets.Retain(refs, *d.all)
		return
	}
	of := make([]intent.SetID, len(by))
	for i := range by {
		of[i] = by[i].Peer.Set
	}
	if !slices.Contains(of, d.all.ID()) { // all of it is shared whole
		v.sets.RetainUnion(refs, *d.all, of)
	}
}

// len counts what rules have in common.
func (v *divider) len() int { return v.common.len() + v.rests.len() }

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
