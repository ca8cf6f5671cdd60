package policy

import (
	"cmp"

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
