package retention

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// stagedClass is the class of the staged policies of a kind. They count apart from those that are enforced: a loss of all enforced ones is
// no smaller because there are staged ones, and a policy that becomes staged was not lost.
func stagedClass(kind string) string { return kind + " (staged)" }

// class is what an object counts with: those of its kind, or the staged ones of its kind.
func (l *Ledger) class(ref object.Ref) string {
	if l.staged[ref] {
		return stagedClass(ref.Kind)
	}
	return ref.Kind
}

// tally returns the tally of the class of an object.
func (l *Ledger) tally(ref object.Ref) *tally {
	class := l.class(ref)
	t := l.tallies[class]
	if t == nil {
		t = &tally{lost: map[object.Ref]time.Time{}}
		l.tallies[class] = t
	}
	return t
}

// isStaged reports whether an object in force is a staged policy.
func (l *Ledger) isStaged(ref object.Ref) bool {
	if !object.IsPolicy(ref.Kind) {
		return false
	}
	var namespace map[string]string
	if ref.Kind == object.KindNetworkPolicy {
		namespace = l.annotations(object.Ref{Kind: object.KindNamespace, Name: ref.Namespace})
	}
	return object.IsStaged(l.annotations(ref), namespace)
}

// annotations are those of an object in force; nil for one that is not.
func (l *Ledger) annotations(ref object.Ref) map[string]string {
	held := l.known[ref]
	if held == nil {
		return nil
	}
	o, _ := held.Object().(metav1.Object)
	if o == nil {
		return nil
	}
	return o.GetAnnotations()
}

// classify moves a policy between the classes if it became staged or enforced: one class loses it as if it were deleted. A missing one
// stays where it is until it has been judged.
func (l *Ledger) classify(ref object.Ref) {
	staged := l.isStaged(ref)
	if staged == l.staged[ref] || l.missing[ref] {
		return
	}
	was := l.tally(ref)
	l.setStaged(ref, staged)
	now := l.tally(ref)
	if _, kept := l.kept[ref]; kept {
		was.kept--
		now.kept++
	} else {
		was.present--
		now.present++
	}
	was.deleted++
}

func (l *Ledger) setStaged(ref object.Ref, staged bool) {
	if staged {
		l.staged[ref] = true
	} else {
		delete(l.staged, ref)
	}
}

// classifyIn moves the policies of a namespace if that has become staged, or no longer is. Few changes of namespaces are about policies.
func (l *Ledger) classifyIn(namespace string) {
	annotations := l.annotations(object.Ref{Kind: object.KindNamespace, Name: namespace})
	staged := object.IsStaged(nil, annotations)
	if staged == l.stages[namespace] {
		return
	}
	if staged {
		l.stages[namespace] = true
	} else {
		delete(l.stages, namespace)
	}
	for ref := range l.known {
		if ref.Kind == object.KindNetworkPolicy && ref.Namespace == namespace {
			l.classify(ref)
		}
	}
}
