package source

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
)

// Held is an object as a source keeps it, which may take less memory than the object in its type. It is shared and does not
// change.
type Held interface {
	// Object returns the object in its type. It must not be changed.
	Object() runtime.Object
}

// Holder is a source that keeps objects in a form of its own.
type Holder interface {
	// Hold is Get without converting the object to its type.
	Hold(ref object.Ref) (Held, bool)
}

// Hold returns an object as s keeps it, false if there is none.
func Hold(s Source, ref object.Ref) (Held, bool) {
	if h, ok := s.(Holder); ok {
		return h.Hold(ref)
	}
	o, ok := s.Get(ref)
	return Typed(o), ok
}

// Typed returns an object that is kept in its type.
func Typed(o runtime.Object) Held { return typed{o} }

type typed struct{ object runtime.Object }

func (t typed) Object() runtime.Object { return t.object }
