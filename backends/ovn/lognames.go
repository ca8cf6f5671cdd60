package ovn

import (
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// LogNames returns the rules that the name of an ACL in an audit log stands for; rule -1 is the isolation by a policy. A name
// has several if equal rules share an ACL, or if objects of different kinds have the same name; those of the ACLs that only log have none.
func LogNames(s *intent.Snapshot) map[string][]intent.RuleRef {
	out := map[string][]intent.RuleRef{}
	for _, d := range intent.Directions() {
		out[StagedLogName(d)] = nil
	}
	for p := range s.Policies() {
		if p.Isolates {
			name := nb.RuleName(p.Origin, p.Direction.String())
			out[name] = append(out[name], intent.RuleRef{Policy: p.ID, Rule: -1})
		}
		for i := range p.Rules {
			name := nb.RuleName(p.Origin, nb.ShortRule(p.Rules[i].Path))
			out[name] = append(out[name], intent.RuleRef{Policy: p.ID, Rule: i})
		}
	}
	return out
}
