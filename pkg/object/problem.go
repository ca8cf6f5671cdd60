package object

import (
	"cmp"
	"fmt"
	"strings"
)

// Problem is what is wrong with an object or with a place that objects are read from, as long as it lasts. The invalid
// part of an object allows nothing.
type Problem struct {
	Cluster string `json:"-"`               // of the object; "" is the only, unnamed cluster
	Ref     Ref    `json:"object,omitzero"` // zero if the object is unknown, or the problem concerns a whole place
	Field   string `json:"field,omitempty"` // path in the object, such as spec.ingress[0].ports[0].port; "" for the whole
	Message string `json:"message"`         // what is wrong and what was expected, without a full stop
	Place   Place  `json:"place,omitzero"`  // where it was found; zero if it was not found while reading
	Unread  Unread `json:"-"`
}

// Unread is what a source could not read because of a problem.
type Unread uint8

const (
	// UnreadNothing is a problem of an object; everything else was read.
	UnreadNothing Unread = iota
	// UnreadResource is a resource of the API that cannot be read any more: what was read of it stays and may be out of
	// date.
	UnreadResource
	// UnreadFile is a file or document whose objects cannot be identified: what the file declared before stays, and what
	// it declared before this process started is unknown.
	UnreadFile
)

// Place is where objects are read from. The zero value is nowhere.
type Place struct {
	Path     string `json:"path,omitempty"`     // of a file or directory, or a resource of the API such as pods
	Document int    `json:"document,omitempty"` // from 1; 0 is the whole file
	Line     int    `json:"line,omitempty"`     // from 1; 0 if unknown
}

// String formats p as "path:line" or, if the line is unknown, as "path: document 2" or "path".
func (p Place) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d", p.Path, p.Line)
	case p.Document > 0:
		return fmt.Sprintf("%s: document %d", p.Path, p.Document)
	default:
		return p.Path
	}
}

// Compare orders places by path, document and line.
func (p Place) Compare(o Place) int {
	return cmp.Or(strings.Compare(p.Path, o.Path), cmp.Compare(p.Document, o.Document), cmp.Compare(p.Line, o.Line))
}

// Where formats the place and the object of p, such as "a.yaml: document 2: NetworkPolicy/shop/web".
func (p Problem) Where() string {
	name := ""
	if p.Ref != (Ref{}) {
		name = p.Ref.Path()
		if p.Cluster != "" {
			name = p.Cluster + "/" + name
		}
	}
	return joined(p.Place.String(), name)
}

// What formats the field and the message of p.
func (p Problem) What() string { return joined(p.Field, p.Message) }

// Error formats p on one line, such as "NetworkPolicy/shop/web: spec.policyTypes[0]: Unsupported value: ...".
func (p Problem) Error() string { return Line(joined(p.Where(), p.What())) }

// Compare orders problems by place, object, field and message. It looks at no more than it has to: lists may be long.
func (p Problem) Compare(o Problem) int {
	if p.Place != o.Place {
		return p.Place.Compare(o.Place)
	}
	if p.Cluster != o.Cluster {
		return strings.Compare(p.Cluster, o.Cluster)
	}
	if p.Ref != o.Ref {
		return p.Ref.Compare(o.Ref)
	}
	return cmp.Or(strings.Compare(p.Field, o.Field), strings.Compare(p.Message, o.Message), cmp.Compare(p.Unread, o.Unread))
}

// joined puts a colon between a and b unless one of them is empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
