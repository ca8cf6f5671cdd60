package precedence

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Pruner finds NetworkPolicies and rules without which every verdict stays the same at present, because other NetworkPolicies decide the
// same. Each finding counts as removed from then on: of two equal policies it finds one, and all its findings can be removed together. It
// is not safe for concurrent use.
//
// What it finds is certain, but it does not find everything: the pods of a rule must all be among those of each single rule that
// replaces it, while peers and ports may be covered by several together. What matches nothing at present is not found.
type Pruner struct {
	analysis
	policies map[object.Ref][2]*intent.Policy // by direction
	removed  map[intent.RuleRef]bool          // rule -1 is the policy
}

// NewPruner makes a pruner that may make a number of comparisons in all.
func NewPruner(s *intent.Snapshot, budget int) *Pruner {
	a := &Pruner{
		analysis: newAnalysis(s, budget), policies: map[object.Ref][2]*intent.Policy{}, removed: map[intent.RuleRef]bool{},
	}
	for p := range s.Policies() {
		if p.Tier == intent.TierNetworkPolicy {
			both := a.policies[p.Origin.Ref()]
			both[p.Direction] = p
			a.policies[p.Origin.Ref()] = both
		}
	}
	return a
}

// Exhausted reports whether the budget is used up, so that nothing more is found.
func (a *Pruner) Exhausted() bool { return a.left < 0 }

// Policy reports whether the policies of an object are redundant in all their directions because of those of some other objects,
// and returns the ones that replace it, in the order of others.
func (a *Pruner) Policy(of object.Ref, others []object.Ref) (by []object.Ref, redundant bool) {
	a.incomplete = a.Exhausted()
	needed := map[object.Ref]bool{}
	found := a.each(of, func(p *intent.Policy) bool {
		whole := func(p *intent.Policy) *rule { return &rule{Rule: &intent.Rule{}, of: p} }
		if p.CNFs != (intent.Scope{}) || len(a.subjects(whole(p))) == 0 {
			return false
		}
		rivals := a.rivals(p, others)
		isolating := slices.IndexFunc(rivals, func(q *intent.Policy) bool { return q.Isolates && a.holdsSubjects(whole(q), whole(p)) })
		if p.Isolates && isolating < 0 {
			return false
		}
		if p.Isolates {
			needed[rivals[isolating].Origin.Ref()] = true
		}
		allowing := a.allowing(rivals)
		for rules := range rulesOf(p) {
			refs, matches, covered := a.judge(rules, allowing)
			if !matches || !covered {
				return false
			}
			for _, ref := range refs {
				needed[a.snapshot.Policy(ref.Policy).Origin.Ref()] = true
			}
		}
		return true
	})
	if !found || a.incomplete {
		return nil, false
	}
	a.each(of, func(p *intent.Policy) bool {
		a.removed[intent.RuleRef{Policy: p.ID, Rule: -1}] = true
		return true
	})
	return slices.DeleteFunc(slices.Clone(others), func(r object.Ref) bool { return !needed[r] }), true
}

// Rules lists the rules of an object's policies that are redundant because of other rules of the same object, or of some other
// objects: the later of two equal ones.
func (a *Pruner) Rules(of object.Ref, others []object.Ref) []Finding {
	var out []Finding
	a.incomplete = a.Exhausted()
	a.each(of, func(p *intent.Policy) bool {
		if p.CNFs != (intent.Scope{}) {
			return true
		}
		rivals := append([]*intent.Policy{p}, a.rivals(p, others)...)
		for _, rules := range slices.Backward(slices.Collect(rulesOf(p))) {
			for _, r := range rules {
				a.removed[r.ref()] = true
			}
			refs, matches, covered := a.judge(rules, a.allowing(rivals))
			if matches && covered && !a.incomplete {
				out = append(out, Finding{Covered, p.Direction, p.ID, rules[0].Path, rules[0].Name, refs})
				continue
			}
			for _, r := range rules {
				delete(a.removed, r.ref())
			}
		}
		return !a.incomplete
	})
	slices.Reverse(out)
	return out
}

// each calls do for the policy of a NetworkPolicy in each direction, until it returns false; it returns whether there was one and
// all returned true.
func (a *Pruner) each(of object.Ref, do func(*intent.Policy) bool) bool {
	found := false
	for _, p := range a.policies[of] {
		if p == nil {
			continue
		}
		if found = true; !do(p) {
			return false
		}
	}
	return found
}

// rivals are the policies of other objects in the direction of p that are not removed.
func (a *Pruner) rivals(p *intent.Policy, others []object.Ref) []*intent.Policy {
	var out []*intent.Policy
	for _, ref := range others {
		if a.spend(1); a.incomplete {
			return nil
		}
		q := a.policies[ref][p.Direction]
		if q != nil && q.ID != p.ID && !a.removed[intent.RuleRef{Policy: q.ID, Rule: -1}] {
			out = append(out, q)
		}
	}
	return out
}

// allowing lists the rules of policies that allow something and are not removed.
func (a *Pruner) allowing(policies []*intent.Policy) []*rule {
	var out []*rule
	for _, q := range policies {
		for i := range q.Rules {
			if a.spend(1); a.incomplete {
				return nil
			}
			r := &rule{&q.Rules[i], q, i}
			if r.Action == intent.Allow && !a.removed[r.ref()] {
				out = append(out, r)
			}
		}
	}
	return out
}
