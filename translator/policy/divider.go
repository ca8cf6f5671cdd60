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
	lists     sharing // what rules allow to lists of peers as a whole
	common    sharing // the same peer by peer, without lists that are worth sharing whole
	rests     sharing // what is left of rules without what is worth sharing of that
	partsOnly bool    // see translator.Options
	undivided bool    // the same

	// Policies that others changed wait, so that no change costs more than what it has itself, see divideWaiting.
	waiting waiting
	divided map[object.Ref]bool // in the current divideAll: these do not wait
}

func newDivider(s *sets.Table, queue *dirty.Queue, form Form) *divider {
	return &divider{
		sets: s, dirty: queue, lists: newSharing(again), common: newSharing(0), rests: newSharing(again),
		partsOnly: form.PartsOnly, undivided: form.Undivided, waiting: newWaiting(),
	}
}

// share causes the rules of an object that replaces old to be divided. If it has none, it no longer has anything in common with others.
func (v *divider) share(ref object.Ref, old, now *result) {
	if v.undivided {
		if now != nil {
			for i := range now.divisible {
				v.retainPeers(&now.refs, &now.divisible[i], nil)
			}
		}
		return
	}
	was := &parts{}
	if old != nil && old.parts != nil {
		was = old.parts
		v.sets.Replace(ref, &was.refs, nil)
	}
	if now != nil && len(now.divisible) > 0 {
		now.parts = &parts{lists: was.lists, uses: was.uses, rests: was.rests}
		v.divideAgain(ref)
		return
	}
	v.waiting.remove(ref)
	v.lists.replace(ref, was.lists, nil, v.changed)
	v.common.replace(ref, was.uses, nil, v.changedPeer)
	v.rests.replace(ref, was.rests, nil, v.changed)
}

func (v *divider) divideAgain(ref object.Ref) { v.dirty.Add(dirty.Parts, ref) }

// changed has the rules of a policy divided again that another policy changed: at once if it has changed itself.
func (v *divider) changed(u user) bool {
	if v.divided[u.policy] {
		v.divideAgain(u.policy)
	} else {
		v.waiting.add(u.policy)
	}
	return true
}

// divideWaiting has divideAll divide policies that wait, the first ones with that many peers together, and at least one. Until then they are
// divided as they were: their rules allow the same, in other parts than they would have if all policies came now.
func (v *divider) divideWaiting(results map[object.Ref]*result, peers int) {
	for _, ref := range v.waiting.take(peers, func(ref object.Ref) int { return results[ref].peers() }) {
		v.divideAgain(ref)
	}
}

// changedPeer leaves out all lists of one peer if they are shared whole.
func (v *divider) changedPeer(u user) bool {
	return (u.among > 1 || !v.whole(u.what)) && v.changed(u)
}

// whole reports whether a list is shared whole.
func (v *divider) whole(list intent.SetID) bool { return v.lists.worth(wholeOf("", list)) }

// divideAll divides the rules of the results that have changed, or no longer wait. Each step may be one for others too, which take the next one:
// lists that several policies have do not count peer by peer, and what is worth sharing leaves a remainder. That may in turn be worth
// sharing, which does not depend on any further division.
func (v *divider) divideAll(results map[object.Ref]*result) {
	v.divided = map[object.Ref]bool{}
	defer func() { v.divided = nil }()
	for v.dirty.Len(dirty.Parts) > 0 {
		for _, step := range []func(object.Ref, *result){v.countLists, v.countPeers, v.divide} {
			list := v.dirty.Take(dirty.Parts, object.Ref.Compare)
			for _, ref := range list {
				v.divided[ref] = true
				v.waiting.remove(ref)
			}
			for _, ref := range list {
				if r := results[ref]; r != nil && r.parts != nil {
					step(ref, r)
				}
			}
		}
	}
}

// countLists counts the lists that an object has in common with others while snapshots show it: parts that affect no pod of the own node are
// not worth sharing there.
func (v *divider) countLists(ref object.Ref, r *result) {
	var now []use
	if r.parts.counted = v.sets.Shows(&r.refs); r.parts.counted {
		now = r.lists()
	}
	r.parts.lists = v.lists.replace(ref, r.parts.lists, now, v.changed)
	v.divideAgain(ref)
}

// countPeers counts the peers of its other rules.
func (v *divider) countPeers(ref object.Ref, r *result) {
	var now []use
	if r.parts.counted {
		now = r.uses(v.whole)
	}
	r.parts.uses = v.common.replace(ref, r.parts.uses, now, v.changedPeer)
	v.divideAgain(ref)
}

// divide divides the rules of one object. Its policies are replaced, as a snapshot may have them.
func (v *divider) divide(ref object.Ref, r *result) {
	now := &parts{counted: r.parts.counted, lists: r.parts.lists, uses: r.parts.uses}
	worth := map[intent.SetID]bool{}
	for _, u := range now.uses {
		worth[u.what] = v.common.worth(u)
	}
	divisions := make([]division, len(r.divisible))
	for i := range r.divisible {
		divisions[i] = v.divisionOf(r, &r.divisible[i], worth)
		if rest := divisions[i].rest; rest != nil && now.counted {
			now.rests = append(now.rests, wholeOf(r.policies[r.divisible[i].policy].Subject, rest.shared))
		}
	}
	now.rests = v.rests.replace(ref, r.parts.rests, distinct(now.rests), v.changed)
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

// division is how a rule is divided.
type division struct {
	worth []sets.Spec // the peers that are worth sharing
	rest  *rest       // of the others, nil if there are none
}

// rest is the remainder of a rule without the peers that are worth sharing.
type rest struct {
	peer   intent.Peer
	set    *sets.Spec   // nil with any peer
	shared intent.SetID // see intent.SharedSet
}

// divisionOf splits off the parts of a rule that are worth sharing.
func (v *divider) divisionOf(r *result, d *divisible, worth map[intent.SetID]bool) division {
	if d.peers == nil {
		peer := intent.Peer{Kind: intent.PeerAny}
		return division{rest: &rest{peer, nil, r.allows(d, peer)}}
	}
	var out division
	var left []sets.Spec
	whole := v.whole(r.whole(d))
	for i := range d.peers {
		if !whole && worth[r.allows(d, peerOf(&d.peers[i]))] {
			out.worth = append(out.worth, d.peers[i])
		} else {
			left = append(left, d.peers[i])
		}
	}
	if len(left) > 0 {
		set := sets.Union(left)
		out.rest = &rest{peerOf(&set), &set, r.allows(d, peerOf(&set))}
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
	worth, title := v.rests.worth(wholeOf(policy.Subject, by.rest.shared)), "anywhere"
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

// len counts what rules have in common, and the policies that wait.
func (v *divider) len() int { return v.lists.len() + v.common.len() + v.rests.len() + v.waiting.len() }

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
