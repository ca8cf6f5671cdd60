package consistency

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// Change is a change that is about to be made to an object. Old is nil if it is created, New if it is deleted.
type Change struct {
	Kind     string
	Old, New metav1.Object
}

// Check finds what is wrong with a change of an SD-WAN object of pkg/apis/sdewan/v1alpha1.
func (x *Index) Check(c Change) []Finding {
	if c.New == nil {
		return x.checkDeletion(keyOf(c.Kind, c.Old), c.Old)
	}
	found := CheckPurpose(c)
	for _, f := range plainSecrets(c.New) {
		text := fmt.Sprintf("%s: is in clear text for everyone who may read the object; %s refers to a Secret instead", f[0], f[1])
		found = append(found, Finding{Check: PlainSecrets, Text: text, Old: c.Old != nil && slices.Contains(plainSecrets(c.Old), f)})
	}
	return append(found, x.checkReferences(c)...)
}

// CheckPurpose finds a label sdewanPurpose that is changed or removed. Adding it affects nothing: an object without it applies to no CNF.
func CheckPurpose(c Change) []Finding {
	if c.Old == nil || c.New == nil {
		return nil
	}
	was, is := c.Old.GetLabels()[v1alpha1.LabelPurpose], c.New.GetLabels()[v1alpha1.LabelPurpose]
	if was == "" || was == is {
		return nil
	}
	return []Finding{{Check: Purpose, Text: ImmutablePurpose}}
}

// CheckWorkload finds what is wrong with a change of a Deployment or another kind that creates pods. Only its metadata is
// used.
func (x *Index) CheckWorkload(c Change) []Finding {
	if c.New == nil || c.New.GetDeletionTimestamp() != nil {
		return nil
	}
	found := CheckPurpose(c)
	key, purpose := keyOf(c.Kind, c.New), c.New.GetLabels()[v1alpha1.LabelPurpose]
	x.mu.RLock()
	defer x.mu.RUnlock()
	var others []object.Ref
	for other := range x.works[scope{key.Namespace, purpose}] {
		if other != key {
			others = append(others, other)
		}
	}
	if len(others) == 0 {
		return found
	}
	slices.SortFunc(others, object.Ref.Compare)
	return append(found, Finding{
		Check: DuplicateCNF,
		Text: fmt.Sprintf("metadata.labels[%s]: %s is already the CNF %q of namespace %s; expected one workload",
			v1alpha1.LabelPurpose, some(others), purpose, key.Namespace),
		Old: c.Old != nil && c.Old.GetLabels()[v1alpha1.LabelPurpose] == purpose,
	})
}

// checkDeletion finds objects that still need what is deleted.
func (x *Index) checkDeletion(key object.Ref, old metav1.Object) []Finding {
	purpose := old.GetLabels()[v1alpha1.LabelPurpose]
	if purpose == "" {
		return nil // it applies to no CNF
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	users := x.usersOf(key, purpose)
	if len(users) == 0 {
		return nil
	}
	return []Finding{{Check: Dependencies, Text: fmt.Sprintf("%s is still used by %s", key, some(users))}}
}

// checkReferences finds missing objects that an object refers to.
func (x *Index) checkReferences(c Change) []Finding {
	purpose := c.New.GetLabels()[v1alpha1.LabelPurpose]
	if purpose == "" || c.New.GetDeletionTimestamp() != nil {
		return nil
	}
	var before []v1alpha1.ObjectReference
	if c.Old != nil && c.Old.GetLabels()[v1alpha1.LabelPurpose] == purpose {
		before = v1alpha1.ReferencesOf(c.Old)
	}
	byHand := namesOf(c.New.GetAnnotations()[OnDevice])
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []Finding
	for _, r := range v1alpha1.ReferencesOf(c.New) {
		if x.unknown[r.Kind] || slices.Contains(byHand, r.Name) || slices.Contains(byHand, "*") {
			continue
		}
		missing := x.missing(object.Ref{Kind: r.Kind, Namespace: c.New.GetNamespace(), Name: r.Name}, purpose)
		if missing == "" {
			continue
		}
		found = append(found, Finding{
			Check: Dependencies,
			Text:  fmt.Sprintf("%s: %s; if it was created on the device by hand, name it in the annotation %s", r.Field, missing, OnDevice),
			Old:   slices.ContainsFunc(before, func(b v1alpha1.ObjectReference) bool { return b.Kind == r.Kind && b.Name == r.Name }),
		})
	}
	return found
}

// missing returns why a CNF does not have an object; "" if it has. The caller holds the lock.
func (x *Index) missing(target object.Ref, purpose string) string {
	switch e := x.objects[target]; {
	case e == nil:
		return target.String() + " does not exist"
	case e.purpose == "":
		return fmt.Sprintf("%s applies to no CNF: it has no label %s", target, v1alpha1.LabelPurpose)
	case e.purpose != purpose:
		return fmt.Sprintf("%s is for the CNF %q, not for %q", target, e.purpose, purpose)
	case e.going:
		return target.String() + " is being deleted"
	}
	return ""
}

// namesOf splits a comma-separated list.
func namesOf(text string) []string {
	var names []string
	for n := range strings.SplitSeq(text, ",") {
		if n = strings.TrimSpace(n); n != "" {
			names = append(names, n)
		}
	}
	return names
}
