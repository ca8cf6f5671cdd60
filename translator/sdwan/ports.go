package sdwan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/owner"
)

// port is a port of the CNFs of a scope, which belongs to only one service.
type port struct {
	scope    intent.Scope
	protocol string
	number   uint16
}

// candidate is an object that asks for a port: a resource takes precedence over a Service that has the port by its label,
// then an older one over a younger.
type candidate struct {
	ref     object.Ref
	created metav1.Time
}

func (c candidate) compare(o candidate) int {
	rule := func(c candidate) int {
		if c.ref.Kind == kindServiceRule {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(rule(c), rule(o)),
		owner.CompareAge(c.created, o.created),
		c.ref.Compare(o.ref),
	)
}

// asked is a port that an object asks for.
type asked struct {
	port
	by candidate
}

// reown has an object ask for the ports in now instead of those in was. It returns the others that ask for a port whose
// owner changes.
func (t *Table) reown(was, now []asked) []object.Ref {
	var rivals []object.Ref
	change := func(of port, edit func()) {
		before, _ := t.ports.Owner(of)
		edit()
		if after, ok := t.ports.Owner(of); !ok || after == before {
			return
		}
		for _, r := range t.ports.All(of) {
			rivals = append(rivals, r.ref)
		}
	}
	for _, m := range was {
		if !slices.Contains(now, m) {
			change(m.port, func() { t.ports.Remove(m.port, m.by) })
		}
	}
	for _, m := range now {
		if !slices.Contains(was, m) {
			change(m.port, func() { t.ports.Add(m.port, m.by) })
		}
	}
	return rivals
}

// take reports whether a port is the object's own, and adds a fault if another has it. An object that is being deleted
// takes nothing.
func (e *translation) take(path string, of port) bool {
	if e.gone {
		return true
	}
	own := asked{of, candidate{e.ref, e.object.GetCreationTimestamp()}}
	if slices.Contains(e.out.asks, own) {
		e.Add(path, "%s/%d is already used; it is ignored here", of.protocol, of.number)
		return false
	}
	e.out.asks = append(e.out.asks, own)
	for _, first := range e.ports.All(of) {
		if first.ref == e.ref {
			continue // as it was before
		}
		if first.compare(own.by) < 0 {
			holder := first.ref
			if holder.Kind == kindServiceRule {
				holder.Kind = object.KindService
			}
			e.Add(path, "%s/%d of the CNFs of %s belongs to %s, which takes precedence; it is ignored",
				of.protocol, of.number, of.scope, holder.Path())
			return false
		}
		break
	}
	return true
}
