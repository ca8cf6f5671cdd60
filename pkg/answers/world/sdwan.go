package world

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
)

// SDWANNames lists the SD-WAN objects as kind/namespace/name in lower case, sorted.
func (w *World) SDWANNames() []string {
	var out []string
	for i := range w.State.Objects.SDWAN {
		o := &w.State.Objects.SDWAN[i]
		out = append(out, strings.ToLower(o.Kind)+"/"+o.Namespace+"/"+o.Name)
	}
	slices.Sort(out)
	return out
}

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

// sdwanOf lists the SD-WAN objects of a kind as namespace/name, sorted.
func (w *World) sdwanOf(kind name.Kind) []string {
	var out []string
	for i := range w.State.Objects.SDWAN {
		if o := &w.State.Objects.SDWAN[i]; strings.EqualFold(o.Kind, string(kind)) {
			out = append(out, o.Namespace+"/"+o.Name)
		}
	}
	slices.Sort(out)
	return out
}
