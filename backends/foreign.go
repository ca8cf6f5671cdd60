package backends

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Watcher is a backend that notices at once when someone else changes what it owns. Its Waker then wakes the loop. Like those
// of Backend, its methods are called by one goroutine at a time.
type Watcher interface {
	// ChangedByOthers reports whether someone else may have changed, inserted or deleted what the backend owns since the last
	// plan from read-back began, and no applied plan has repaired it. It does not query the target.
	ChangedByOthers() bool
	// Foreign describes what was changed; nil if nothing was.
	Foreign() *Foreign
	// Repair plans to undo what Foreign returns, and nothing else: the target gets what the last applied plan gave it. The plan
	// has Resync if that is only possible from read-back.
	Repair(ctx context.Context) (*Plan, error)
	// Writers describes who is connected to the target, as far as it reports this; "" if it does not.
	Writers(ctx context.Context) string
}

// Confirmer is a Watcher that has to query the target before it knows whether someone else changed it.
type Confirmer interface {
	// Confirm looks at what may have been changed since the last call. ChangedByOthers is as of then.
	Confirm(ctx context.Context) error
}

// Foreign describes changes that others made to a target and that have not been repaired yet. It is read-only.
type Foreign struct {
	// Objects are what was changed, sorted by kind and name, or the first MaxForeign of them. All is how many there are.
	Objects []ForeignObject
	All     int
	// Unknown means that more may have been changed than Objects lists: everything has to be read back.
	Unknown bool
	// Concerns reports whether the policies of an origin (intent.Origin.String) may not be enforced correctly; nil means all of them.
	Concerns func(origin string) bool
	// Opened lists the endpoints that are not protected in the meantime, if known; nil is none. Like the methods of the backend it is
	// called by the goroutine that has the Foreign from it, and before the next plan.
	Opened func() Gaps
}

// MaxForeign is how many objects a Foreign lists.
const MaxForeign = 16

// ForeignObject is a native object that others changed.
type ForeignObject struct {
	Kind, Name string   // in the target's own terms, such as a table and the name of a row
	For        string   // what it is for, such as the object it was made from; "" if that is not known
	Fields     []string // those that were changed, sorted; none if it was created or deleted
}

// String describes f in a few words, with at most three objects.
func (f *Foreign) String() string {
	const shown = 3
	var parts []string
	for _, o := range f.Objects[:min(len(f.Objects), shown)] {
		text := o.Kind + " " + o.Name
		if o.For != "" {
			text += " for " + o.For
		}
		if len(o.Fields) > 0 {
			text += " (" + strings.Join(o.Fields, ", ") + ")"
		}
		parts = append(parts, text)
	}
	if more := f.All - len(parts); more > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if len(parts) == 0 {
		return "rows that are not known"
	}
	return strings.Join(parts, ", ")
}

// Affects reports whether the policies of an origin may not be enforced correctly.
func (f *Foreign) Affects(origin string) bool {
	return f != nil && (f.Unknown || f.Concerns == nil || f.Concerns(origin))
}

// Sort sorts the objects and keeps the first MaxForeign.
func (f *Foreign) Sort() {
	slices.SortFunc(f.Objects, func(a, b ForeignObject) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	f.Objects = slices.Clip(f.Objects[:min(len(f.Objects), MaxForeign)])
}
