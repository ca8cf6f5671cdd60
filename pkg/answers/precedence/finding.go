package precedence

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// Kind is what was found.
type Kind uint8

// The kinds of findings. Covered is a rule that matches nothing which rules with precedence leave; Overridden is a policy of which
// all is covered in a direction; Contradiction is another policy of the same tier and priority that does something else with the
// same traffic, so that only the names decide between the two.
const (
	Covered Kind = iota
	Overridden
	Contradiction
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Covered:
		return "covered"
	case Overridden:
		return "overridden"
	case Contradiction:
		return "contradiction"
	default:
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
}

// Finding is one thing about a policy in one direction.
type Finding struct {
	Kind      Kind
	Direction intent.Direction
	Policy    intent.PolicyID
	Path      string // of the rule; "" if it is about the whole policy
	Name      string // of the rule
	// By are the rules that decide before it or, for a contradiction, the other policy's rule. Rule -1 is the isolation by
	// NetworkPolicies, whose Policy is "".
	By []intent.RuleRef
}

// shown is how many rules a message names.
const shown = 3

// Message describes the finding in the snapshot that it was made in.
func (f *Finding) Message(s *intent.Snapshot) string {
	rules := RulesText(s, f.By)
	switch f.Kind {
	case Overridden:
		return fmt.Sprintf("%s: has no effect at present: what it matches is decided before by %s", f.Direction, rules)
	case Contradiction:
		return fmt.Sprintf("%s contradicts %s of the same priority: their names decide which comes first", f.rule(), rules)
	case Covered:
	}
	return fmt.Sprintf("%s never matches at present: what it matches is decided before by %s", f.rule(), rules)
}

// RulesText names the first few of some rules.
func RulesText(s *intent.Snapshot, refs []intent.RuleRef) string {
	texts := make([]string, 0, shown)
	for _, ref := range refs[:min(len(refs), shown)] {
		texts = append(texts, ruleText(s, ref))
	}
	if more := len(refs) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

func (f *Finding) rule() string {
	if f.Name == "" {
		return f.Path
	}
	return fmt.Sprintf("%s %q", f.Path, f.Name)
}

func ruleText(s *intent.Snapshot, ref intent.RuleRef) string {
	p := s.Policy(ref.Policy)
	if p == nil || ref.Rule < 0 {
		return "the isolation of its pods by NetworkPolicies"
	}
	r := &p.Rules[ref.Rule]
	text := p.Origin.String() + " " + r.Path
	if r.Name != "" {
		text += fmt.Sprintf(" %q", r.Name)
	}
	return text
}
