package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// Finding is one probable mistake.
type Finding struct {
	Rule     string       `json:"rule"` // its ID
	Severity Severity     `json:"severity"`
	Ref      object.Ref   `json:"object,omitzero"`
	Field    string       `json:"field,omitempty"` // path in the object; "" for the whole
	Message  string       `json:"message"`
	Place    object.Place `json:"place,omitzero"`
	By       []object.Ref `json:"by,omitempty"` // the other policies that are the reason
	// Ignored is the reason why the finding is accepted; "" if it is not.
	Ignored string `json:"ignored,omitempty"`
}

// Compare orders findings by place, object, field, rule and message.
func (f *Finding) Compare(o *Finding) int {
	return cmp.Or(
		f.Place.Compare(o.Place), f.Ref.Compare(o.Ref), strings.Compare(f.Field, o.Field), strings.Compare(f.Rule, o.Rule),
		strings.Compare(f.Message, o.Message),
	)
}

// Text formats the field and the message, which may begin with it.
func (f *Finding) Text() string {
	if f.Field == "" || strings.HasPrefix(f.Message, f.Field+" ") {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// newFinding makes a finding with the severity of its rule.
func newFinding(rule string, ref object.Ref, field, message string) Finding {
	r, _ := ruleOf(rule) // every rule of this package exists, which a test proves
	return Finding{Rule: rule, Severity: r.Severity, Ref: ref, Field: field, Message: message}
}

// sorted puts findings in order.
func sorted(all []Finding) []Finding {
	slices.SortFunc(all, func(a, b Finding) int { return a.Compare(&b) })
	return all
}
