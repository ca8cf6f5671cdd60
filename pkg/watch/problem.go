package watch

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// Problem is a present fault of a source: a manifest that cannot be taken, a resource that cannot be watched. It goes
// away when its cause does.
type Problem struct {
	Where   string // file, document and object, or the resource, such as "a.yaml: document 2: Pod shop/web"
	Field   string // path of the field inside the document, such as "spec.ingress[0].ports[0].port"; "" for the whole
	Message string // what is wrong, without a full stop
	// Stale says that a whole resource cannot be read at present: what was read of it stays, and grows old.
	Stale bool
	// Opaque says that a file, or a document of it, does not say which objects it declares: what the file declared before
	// stays, and what it may have declared before this process began is not known.
	Opaque bool
}

// Error spells p on one line, such as
// "a.yaml: document 2: NetworkPolicy shop/web: spec.policyTypes[0]: Unsupported value: ...".
func (p Problem) Error() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{p.Where, p.Field, p.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return object.Line(strings.Join(parts, ": "))
}

// Compare orders problems by where they are, by field and by message.
func (p Problem) Compare(o Problem) int {
	return cmp.Or(
		strings.Compare(p.Where, o.Where),
		strings.Compare(p.Field, o.Field),
		strings.Compare(p.Message, o.Message),
	)
}

// fault is a problem in a directory before it is put in words, with the parts by which faults are ordered.
type fault struct {
	path     string
	document int        // from 1; 0 is the file or directory as a whole
	ref      object.Ref // zero when the document does not say
	field    string
	message  string
	opaque   bool // see Problem
}

func (f fault) compare(o fault) int {
	return cmp.Or(
		strings.Compare(f.path, o.path),
		cmp.Compare(f.document, o.document),
		f.ref.Compare(o.ref),
		strings.Compare(f.field, o.field),
		strings.Compare(f.message, o.message),
	)
}

func (f fault) problem() Problem {
	where := f.path
	if f.document > 0 {
		where += fmt.Sprintf(": document %d", f.document)
	}
	if f.ref != (object.Ref{}) {
		where += ": " + f.ref.String()
	}
	return Problem{Where: where, Field: f.field, Message: f.message, Opaque: f.opaque}
}
