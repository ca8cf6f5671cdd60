package world

import (
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
)

// SDWAN returns an SD-WAN object; nil if there is none.
func (w *World) SDWAN(n *name.Name) *SDWANObject {
	for i := range w.State.Objects.SDWAN {
		o := &w.State.Objects.SDWAN[i]
		if strings.EqualFold(o.Kind, string(n.Kind)) && o.Namespace == n.Namespace && o.Name == n.Name {
			return o
		}
	}
	return nil
}

// sdwanKind reads the kind of an existing SD-WAN object, in any case.
func (w *World) sdwanKind(word string) (name.Kind, bool) {
	for i := range w.State.Objects.SDWAN {
		o := &w.State.Objects.SDWAN[i]
		if strings.EqualFold(word, o.Kind) || strings.EqualFold(word, o.Plural) {
			return name.Kind(strings.ToLower(o.Kind)), true
		}
	}
	return "", false
}
