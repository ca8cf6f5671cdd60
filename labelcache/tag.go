package labelcache

import (
	"cmp"
	"fmt"
)

// TagKind is the kind of object that carries a tag. A pod label never satisfies a namespace selector, nor the reverse.
type TagKind uint8

// PodLabel is a label of an endpoint, NamespaceLabel one of a namespace.
const (
	PodLabel TagKind = iota + 1
	NamespaceLabel
)

// String returns the kind's name.
func (k TagKind) String() string {
	switch k {
	case PodLabel:
		return "pod"
	case NamespaceLabel:
		return "namespace"
	default:
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
}

// Tag is a label that at least one object carries.
type Tag struct {
	Kind       TagKind
	Key, Value string
}

// String renders t as kind:key=value.
func (t Tag) String() string { return t.Kind.String() + ":" + t.Key + "=" + t.Value }

// Compare orders tags by kind, key and value.
func (t Tag) Compare(o Tag) int {
	return cmp.Or(cmp.Compare(t.Kind, o.Kind), cmp.Compare(t.Key, o.Key), cmp.Compare(t.Value, o.Value))
}
