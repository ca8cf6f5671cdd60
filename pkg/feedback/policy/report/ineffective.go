package report

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
)

// separator divides the parts of a message about a policy.
const separator = "; "

// ineffective lists what is valid in a policy and allows nothing now: named ports that no selected pod declares, the first few. It needs all
// pods that the policy selects, of which a netloom of one node knows its own.
func (w *World) ineffective(p Policy) []string {
	var out []string
	if w.partial {
		return nil
	}
	room := shownText
	for _, i := range w.intentsOf(p) {
		for _, u := range i.UndeclaredIn(w.Snapshot) {
			text := u.Field + ": " + u.String()
			if room -= len(text) + len(separator); room < 0 {
				return out
			}
			out = append(out, text)
		}
	}
	return out
}

// ineffectiveIn lists what a status says is ineffective in its policy.
func ineffectiveIn(s *v1alpha1.PolicyStatusStatus) []string {
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionTranslated)
	if c == nil || c.Reason != ReasonUnderstood || c.Message == "" {
		return nil
	}
	return strings.Split(c.Message, separator)
}
