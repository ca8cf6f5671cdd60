package policy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/sets"
)

// result is what one object became.
type result struct {
	policies []*intent.Policy
	node     *intent.Node // of a node
	refs     sets.Refs
	denies   [2]bool   // a rule denies, by direction
	nodes    bool      // it depends on the labels and addresses of nodes
	hosts    []string  // the DNS names that it depends on, each once
	held     sets.Refs // for rules that would exceed the budget of the namespace; snapshots do not show them
	// namespaces is the selector by which the policies list namespaces; nil if they do not.
	namespaces labels.Selector
	subject    labelcache.Term // of a NetworkPolicy
	turn       uint32          // see turnOf
	divisible  []divisible
	parts      *parts // nil if no rule is divisible
}

// setRefs returns what a result retains; nil if there is none.
func (r *result) setRefs() *sets.Refs {
	if r == nil {
		return nil
	}
	return &r.refs
}

// lists lists what the divisible rules allow to lists of peers, each once.
func (r *result) lists() []use {
	var out []use
	for i := range r.divisible {
		if d := &r.divisible[i]; d.peers != nil {
			out = append(out, wholeOf(r.policies[d.policy].Subject, r.whole(d)))
		}
	}
	return distinct(out)
}

// uses lists what the divisible rules allow, peer by peer, each once: of several rules the one with the fewest peers. Lists of several that
// are shared whole do not count, so that however many policies have one, no other policy decides how it is divided. Any peer, which is a
// list of its own, is only ever the rest of a rule.
func (r *result) uses(whole func(list intent.SetID) bool) []use {
	var out []use
	for i := range r.divisible {
		d := &r.divisible[i]
		if len(d.peers) > 1 && whole(r.whole(d)) {
			continue
		}
		for j := range d.peers {
			u := use{what: r.allows(d, peerOf(&d.peers[j])), among: len(d.peers), of: r.policies[d.policy].Rules[d.rule].Peer.Set}
			if classOf(u.among) > exact {
				u.turn = r.turn
			}
			out = append(out, u)
		}
	}
	return distinct(out)
}

// distinct sorts uses, and keeps one of each thing that is used: that of the shortest list.
func distinct(uses []use) []use {
	slices.SortFunc(uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.among, b.among), cmp.Compare(a.of, b.of))
	})
	return slices.CompactFunc(uses, func(a, b use) bool { return a.what == b.what })
}

// peers counts the peers of the divisible rules, any peer as one. Nil has none.
func (r *result) peers() int {
	n := 0
	if r != nil {
		for i := range r.divisible {
			n += max(1, len(r.divisible[i].peers))
		}
	}
	return n
}

// allows returns the set of the subjects of all rules that allow a peer what a rule does.
func (r *result) allows(d *divisible, peer intent.Peer) intent.SetID {
	policy := r.policies[d.policy]
	return intent.SharedSet(policy.Direction, peer, policy.Rules[d.rule].Ports)
}

// whole is that set for all peers of a rule with a list.
func (r *result) whole(d *divisible) intent.SetID { return r.allows(d, peerOf(d.all)) }

// divisible is a rule that may have parts, see intent.Rule.Parts.
type divisible struct {
	policy, rule int         // their indexes
	all          *sets.Spec  // the peers as one set; nil is any
	peers        []sets.Spec // named, each once, those of blocks as one; nil is any
}

// peerOf returns the peer of a set.
func peerOf(s *sets.Spec) intent.Peer { return intent.Peer{Kind: intent.PeerSet, Set: s.ID()} }

// parts is how the rules of a result are divided.
type parts struct {
	refs    sets.Refs
	counted bool  // what the rules allow counts
	lists   []use // of several peers
	uses    []use // of peers
	rests   []use
}

// guards counts the results that may deny ingress, which a node has to be exempted from.
type guards struct {
	isolating int // that isolate
	denying   int // with a rule that denies
}

// count adds or removes a result; nil counts for nothing.
func (g *guards) count(r *result, by int) {
	if r == nil {
		return
	}
	if r.refs.Isolates(intent.Ingress) {
		g.isolating += by
	}
	if r.denies[intent.Ingress] {
		g.denying += by
	}
}

// some reports which of the counts are not zero.
func (g *guards) some() [2]bool { return [2]bool{g.isolating > 0, g.denying > 0} }
