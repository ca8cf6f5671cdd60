package policy

import (
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// isStaged reports whether an object is a staged policy: see object.IsStaged. An EgressFirewall never is, since ovn-kubernetes enforces it
// whatever netloom's annotations say.
func (o *objects) isStaged(ref object.Ref) bool {
	policy := o.byRef[ref]
	if policy == nil || !object.IsPolicy(ref.Kind) {
		return false
	}
	var namespace map[string]string
	if ns := o.namespaces[ref.Namespace]; ns != nil && ref.Kind == object.KindNetworkPolicy {
		namespace = ns.Annotations
	}
	return object.IsStaged(policy.GetAnnotations(), namespace)
}

// checkEnforcement reports a value of the annotation that is not understood: it changes nothing.
func checkEnforcement(annotations map[string]string, what string, faults *field.Faults) {
	if wrong := object.CheckEnforcement(annotations, what); wrong != "" {
		faults.Add(object.EnforcementField, "%s", wrong)
	}
}

func sameEnforcement(a, b map[string]string) bool {
	was, had := a[object.EnforcementAnnotation]
	now, has := b[object.EnforcementAnnotation]
	return was == now && had == has
}
