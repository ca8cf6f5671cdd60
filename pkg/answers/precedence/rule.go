package precedence

import "github.com/netloom/netloom/pkg/intent"

// rule is a rule of a policy.
type rule struct {
	*intent.Rule

	of    *intent.Policy // nil for the isolation by NetworkPolicies
	index int
}

func (r *rule) ref() intent.RuleRef {
	if r.of == nil {
		return intent.RuleRef{Rule: -1}
	}
	return intent.RuleRef{Policy: r.of.ID, Rule: r.index}
}
