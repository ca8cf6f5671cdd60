package policy

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// logStaged turns a staged policy into what it means for targets: connections of the pods that it selects are to be reported. It has no
// intent.Policy, so that it decides nothing. A policy that it is to replace selects further pods whose connections would be decided
// differently.
//
// Nothing is charged to a budget, since rules are not read. A subject that compares with more than maxValuesBeyond values is not observed,
// which is a problem of the staged policy.
func (t *translator) logStaged(ref object.Ref) (*result, []object.Problem) {
	out := &result{}
	faults := field.Faults{Of: t.source.Origin(ref.Kind, t.objects.byRef[ref])}
	for _, one := range []object.Ref{ref, t.objects.stagedFor(ref)} {
		policy := t.objects.byRef[one]
		if policy == nil {
			continue
		}
		selection, directions, values := t.scopeOf(policy)
		if values > maxValuesBeyond {
			faults.Add("spec", "it compares with more than %d values to select pods; their connections are not observed for %s", maxValuesBeyond, ref.Path())
			continue
		}
		term := labelcache.NewTerm(subjectIn(t.source, selection))
		for _, d := range directions {
			t.sets.LogSubjects(&out.refs, d, term)
		}
	}
	return out, faults.List
}

// scopeOf returns which pods a policy selects, as it would be translated if it were enforced, for which directions, and with how many values
// it compares. What cannot be read may be any pod.
func (t *translator) scopeOf(policy metav1.Object) (labelcache.Selection, []intent.Direction, int) {
	scratch := translation{translator: t, account: t.budgets.limits.Open()} // its faults are reported once the policy is enforced
	if np, ok := policy.(*networkingv1.NetworkPolicy); ok {
		p := networkPolicy{translation: scratch, np: np}
		pods, err := p.selector(&np.Spec.PodSelector)
		if err != nil {
			pods = labels.Everything()
		}
		s := labelcache.Selection{Cluster: t.source.Cluster, Namespace: np.Namespace, Pods: pods}
		return s, p.directions(), valuesIn(&np.Spec.PodSelector)
	}
	form, ok := clusterFormOf(policy)
	if !ok {
		return labelcache.Selection{}, nil, 0
	}
	p := clusterPolicy{translation: scratch, form: form}
	p.readSubject()
	var directions []intent.Direction
	for _, d := range intent.Directions() {
		if len(form.rules[d]) > 0 {
			directions = append(directions, d)
		}
	}
	return p.subject, directions, p.subjectValues
}

// stagedFor returns the policy that a staged one names as the one that it is to replace; the zero Ref for none.
func (o *objects) stagedFor(staged object.Ref) object.Ref {
	policy := o.byRef[staged]
	if policy == nil {
		return object.Ref{}
	}
	name := policy.GetAnnotations()[object.StagesAnnotation]
	if name == "" || name == staged.Name {
		return object.Ref{}
	}
	return object.Ref{Kind: staged.Kind, Namespace: staged.Namespace, Name: name}
}
