package service

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/owner"
)

// reserved is how many frontends a Service keeps if it exceeds the budget of its namespace: there may be any number of such Services.
func reserved() budget.Limits { return budget.Limits{budget.Frontends: 100} }

// compareAge orders Services by age, so that those that do not fit the budget are not translated first.
func (t *Table) compareAge(a, b object.Ref) int {
	return cmp.Or(owner.CompareAge(t.createdOf(a), t.createdOf(b)), a.Compare(b))
}

func (t *Table) createdOf(ref object.Ref) metav1.Time {
	if s := t.byRef[ref]; s.object != nil {
		return s.object.CreationTimestamp
	}
	return metav1.Time{}
}
