package policy

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/owner"
)

// objects are the policies, nodes and namespaces as they were last put.
type objects struct {
	byRef      map[object.Ref]metav1.Object // policies and nodes
	nodes      map[object.Ref]*corev1.Node
	namespaces map[string]*corev1.Namespace
}

func newObjects() *objects {
	return &objects{map[object.Ref]metav1.Object{}, map[object.Ref]*corev1.Node{}, map[string]*corev1.Namespace{}}
}

// remove removes a policy or a node.
func (o *objects) remove(ref object.Ref) {
	delete(o.byRef, ref)
	delete(o.nodes, ref)
}

// compareAge orders policies and nodes by age, so that those that do not fit the budget are not translated first.
func (o *objects) compareAge(a, b object.Ref) int {
	return cmp.Or(owner.CompareAge(o.created(a), o.created(b)), a.Compare(b))
}

func (o *objects) created(ref object.Ref) metav1.Time {
	if found := o.byRef[ref]; found != nil {
		return found.GetCreationTimestamp()
	}
	return metav1.Time{}
}

// len counts the objects; nodes twice.
func (o *objects) len() int { return len(o.byRef) + len(o.nodes) + len(o.namespaces) }
