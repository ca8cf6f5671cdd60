package lint

import (
	"fmt"

	"github.com/netloom/netloom/pkg/answers/precedence"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// minBudget is how many comparisons each policy may take at least.
const minBudget = 1000

// order finds rules and policies that have no effect because others take precedence. There are none without cluster-wide policies.
func (r *run) order() {
	if !r.Snapshot.Tiered() {
		return
	}
	budget := min(precedence.Budget, max(minBudget, r.opts.Budget/max(1, len(r.objects))))
	var cut []string
	for _, x := range r.objects {
		report := precedence.Of(r.Snapshot, x.ref, budget)
		for i := range report.Findings {
			r.add(orderFinding(r.Snapshot, x.ref, &report.Findings[i]))
		}
		if report.Incomplete {
			cut = append(cut, x.ref.Path())
		}
	}
	if len(cut) > 0 {
		r.skip("which rules have no effect because others take precedence, in %s: there are too many rules, or pods, to compare", object.Few(cut, shown))
	}
}

func orderFinding(s *intent.Snapshot, ref object.Ref, f *precedence.Finding) Finding {
	rule, field := UnreachableRule, f.Path
	switch f.Kind {
	case precedence.Overridden:
		rule, field = OverriddenPolicy, "spec"
	case precedence.Contradiction:
		rule = SamePriority
	case precedence.Covered:
	}
	out := newFinding(rule, ref, field, f.Message(s))
	out.By = objectsOf(s, f.By, ref)
	return out
}

// objectsOf lists the objects of some rules other than one, each once, in the order of the rules.
func objectsOf(s *intent.Snapshot, rules []intent.RuleRef, except object.Ref) []object.Ref {
	var out []object.Ref
	seen := map[object.Ref]bool{except: true}
	for _, by := range rules {
		if p := s.Policy(by.Policy); p != nil && !seen[p.Origin.Ref()] {
			seen[p.Origin.Ref()] = true
			out = append(out, p.Origin.Ref())
		}
	}
	return out
}

// redundantText describes by which policies another is replaced.
func redundantText(by []object.Ref) string {
	names := make([]string, len(by))
	for i, ref := range by {
		names[i] = ref.Path()
	}
	if len(by) == 1 {
		return fmt.Sprintf("without it every verdict is the same at present: %s does the same for its pods", names[0])
	}
	return fmt.Sprintf("without it every verdict is the same at present: together, %s do the same for its pods", object.Few(names, shown))
}
