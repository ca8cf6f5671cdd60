package lint

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// Staged is a policy that is staged.
type Staged struct {
	Ref object.Ref
	// Stages is the name of the policy that it is to replace, as written; "" for none. Replaces is that policy; zero if there is none of that
	// name, or if it stages another one itself.
	Stages   string
	Replaces object.Ref
}

// staged lists the staged policies.
func (r *run) staged() {
	for i := range r.Staged {
		s := &r.Staged[i]
		message := "is staged: it neither denies nor allows anything"
		if s.Replaces != (object.Ref{}) {
			message += ", and is to replace " + s.Replaces.Path()
		}
		f := newFinding(StagedPolicy, s.Ref, object.EnforcementField, message)
		if s.Replaces != (object.Ref{}) {
			f.By = []object.Ref{s.Replaces}
		}
		r.add(f)
		if s.Stages != "" && s.Replaces == (object.Ref{}) {
			r.add(newFinding(StagesNothing, s.Ref, "metadata.annotations["+object.StagesAnnotation+"]",
				"there is no policy "+s.Stages+" of this kind that it can replace"))
		}
	}
	r.out.Policies += len(r.Staged)
}

// isStaged reports whether a NetworkPolicy is staged, given the present namespaces.
func (c *Checker) isStaged(np *networkingv1.NetworkPolicy) bool {
	return object.IsStaged(np.Annotations, c.staging[np.Namespace])
}

// enforce has a policy, which may be changed, enforced.
func enforce(o metav1.Object) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[object.EnforcementAnnotation] = object.EnforcementEnforced
	o.SetAnnotations(annotations)
}
