package policy

import (
	"maps"
	"slices"

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

// stagedPolicies are the policies that are staged.
type stagedPolicies struct {
	refs      map[object.Ref]object.Ref          // with the policy that each is to replace; zero for none
	replacing map[object.Ref]map[object.Ref]bool // the other way round
	sorted    []object.Ref                       // nil if it has to be made again
}

func newStagedPolicies() stagedPolicies {
	return stagedPolicies{refs: map[object.Ref]object.Ref{}, replacing: map[object.Ref]map[object.Ref]bool{}}
}

// set records whether a policy is staged, and which one it is to replace then.
func (s *stagedPolicies) set(ref object.Ref, staged bool, replaces object.Ref) {
	old, was := s.refs[ref]
	if staged == was && (!staged || old == replaces) {
		return
	}
	if was {
		delete(s.replacing[old], ref)
		if len(s.replacing[old]) == 0 {
			delete(s.replacing, old)
		}
		delete(s.refs, ref)
	}
	if staged != was {
		s.sorted = nil
	}
	if !staged {
		return
	}
	s.refs[ref] = replaces
	if replaces == (object.Ref{}) {
		return
	}
	if s.replacing[replaces] == nil {
		s.replacing[replaces] = map[object.Ref]bool{}
	}
	s.replacing[replaces][ref] = true
}

// list lists them, sorted. It is the same list as long as nothing changes.
func (s *stagedPolicies) list() []object.Ref {
	if s.sorted == nil && len(s.refs) > 0 {
		s.sorted = slices.SortedFunc(maps.Keys(s.refs), object.Ref.Compare)
	}
	return s.sorted
}
