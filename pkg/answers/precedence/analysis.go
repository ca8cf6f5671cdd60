package precedence

import (
	"cmp"
	"iter"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Budget is how many comparisons of rules, pods and addresses an analysis may take.
const Budget = 1_000_000

// Report is what was found about one object.
type Report struct {
	Findings []Finding // by direction, those about the whole policy first, then in the order of rules
	// Incomplete means that the budget was used up, or that some rule was too complicated: there may be more to find.
	Incomplete bool
}

// Messages describes the findings and, if there may be more, says so.
func (r *Report) Messages(s *intent.Snapshot) []string {
	var out []string
	for i := range r.Findings {
		out = append(out, r.Findings[i].Message(s))
	}
	if r.Incomplete {
		out = append(out, "not all rules could be compared with those of other policies: there are too many of them, or of their pods")
	}
	return out
}

// Of analyzes the policies of one object in a snapshot, within a budget of comparisons.
func Of(s *intent.Snapshot, of object.Ref, budget int) Report {
	a := newAnalysis(s, budget)
	var out Report
	for p := range s.Policies() {
		if p.Origin.Ref() == of && p.Tier != intent.TierSystem {
			out.Findings = append(out.Findings, a.policy(p)...)
		}
	}
	slices.SortStableFunc(out.Findings, func(x, y Finding) int { return cmp.Compare(x.Direction, y.Direction) })
	out.Incomplete = a.incomplete
	return out
}

// policy analyzes one direction of an object.
func (a *analysis) policy(p *intent.Policy) []Finding {
	before := a.before(p)
	var out []Finding
	var by []intent.RuleRef
	judged, covered := 0, 0
	note := func(path, name string, rules []*rule) {
		refs, matches, all := a.judge(rules, before)
		if !matches {
			return
		}
		judged++
		if all {
			covered++
			by = append(by, refs...)
			if path != "" {
				out = append(out, Finding{Covered, p.Direction, p.ID, path, name, refs})
			}
		}
	}
	if p.Isolates {
		isolation := isolationOf(p.Subject)
		isolation.of = p
		note("", "", []*rule{isolation})
	}
	for same := range rulesOf(p) {
		note(same[0].Path, same[0].Name, same)
		if p.Tier.Ordered() {
			before = append(before, same...)
		}
	}
	if judged > 0 && judged == covered {
		others := slices.DeleteFunc(by, func(r intent.RuleRef) bool { return r.Policy == p.ID })
		out = []Finding{{Kind: Overridden, Direction: p.Direction, Policy: p.ID, By: distinct(others)}}
	}
	return append(out, a.contradictions(p)...)
}

// rulesOf yields the rules of a policy, those together that one rule of the object became: several if a named port has several
// numbers.
func rulesOf(p *intent.Policy) iter.Seq[[]*rule] {
	return func(yield func([]*rule) bool) {
		for i := 0; i < len(p.Rules); {
			var same []*rule
			for path := p.Rules[i].Path; i < len(p.Rules) && p.Rules[i].Path == path; i++ {
				same = append(same, &rule{&p.Rules[i], p, i})
			}
			if !yield(same) {
				return
			}
		}
	}
}

func distinct(refs []intent.RuleRef) []intent.RuleRef {
	seen := map[intent.RuleRef]bool{}
	return slices.DeleteFunc(refs, func(r intent.RuleRef) bool {
		twice := seen[r]
		seen[r] = true
		return twice
	})
}

// isolationOf returns a rule that matches everything of some endpoints.
func isolationOf(subject intent.SetID) *rule {
	return &rule{index: -1, Rule: &intent.Rule{
		Subject: subject, Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true},
	}}
}

// before lists the rules that are evaluated before those of a policy, in order.
func (a *analysis) before(p *intent.Policy) []*rule {
	var out []*rule
	add := func(t intent.Tier) {
		for q := range a.snapshot.Ranked(t) {
			if q.ID == p.ID {
				return
			}
			for i := range q.Rules {
				if a.spend(1); q.Direction == p.Direction {
					out = append(out, &rule{&q.Rules[i], q, i})
				}
			}
		}
	}
	add(intent.TierAdmin)
	if p.Tier == intent.TierBaseline {
		out = append(out, isolationOf(intent.IsolatedSet(p.Direction)))
		add(intent.TierBaseline)
	}
	return out
}

// judge finds out whether rules before decide all that some rules match. It returns false for matches if they match nothing at
// present.
func (a *analysis) judge(rules, before []*rule) (by []intent.RuleRef, matches, covered bool) {
	covered = true
	for _, r := range rules {
		pieces := a.piecesOf(r)
		if len(pieces) == 0 {
			continue
		}
		matches = true
		for _, b := range before {
			if len(pieces) == 0 {
				break
			}
			if a.spend(1); a.incomplete {
				return nil, matches, false
			}
			if a.passesOn(r, b) {
				if a.sharesSubjects(r, b) && a.touches(pieces, r, b) {
					return nil, matches, false // a part comes to the tier of r
				}
				continue
			}
			if !a.holdsSubjects(b, r) {
				continue
			}
			rest, took := a.without(pieces, r, b)
			if pieces = rest; took {
				by = append(by, b.ref())
			}
		}
		covered = covered && len(pieces) == 0
	}
	return distinct(by), matches, covered && matches && !a.incomplete
}

// passesOn reports whether b leaves what it matches to the tier of r.
func (a *analysis) passesOn(r, b *rule) bool {
	return b.Action == intent.Pass && b.of != nil && r.of.Tier != b.of.Tier
}

// contradictions lists the policies of the same tier and priority that do something else with the same traffic, each once.
func (a *analysis) contradictions(p *intent.Policy) []Finding {
	if !p.Tier.Ordered() {
		return nil
	}
	var out []Finding
	for q := range a.snapshot.Ranked(p.Tier) {
		if a.spend(1); q.Priority != p.Priority || q.Direction != p.Direction || q.ID == p.ID {
			continue
		}
		if f, found := a.contradiction(p, q); found {
			out = append(out, f)
		}
	}
	return out
}

func (a *analysis) contradiction(p, q *intent.Policy) (Finding, bool) {
	for i := range p.Rules {
		r := &rule{&p.Rules[i], p, i}
		pieces := a.piecesOf(r)
		for j := range q.Rules {
			o := &rule{&q.Rules[j], q, j}
			if a.spend(1); a.incomplete {
				return Finding{}, false
			}
			if r.Action != o.Action && len(pieces) > 0 && a.sharesSubjects(r, o) && a.touches(pieces, r, o) && !a.incomplete {
				return Finding{Contradiction, p.Direction, p.ID, r.Path, r.Name, []intent.RuleRef{o.ref()}}, true
			}
		}
	}
	return Finding{}, false
}
