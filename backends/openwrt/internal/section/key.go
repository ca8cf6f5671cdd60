package section

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Key identifies an object of the device.
type Key struct {
	Kind openwrt.Kind
	Name string
}

// String formats the key for display.
func (k Key) String() string { return k.Kind.String() + " " + k.Name }

// Compare orders keys by kind and name.
func (k Key) Compare(o Key) int {
	if k.Kind != o.Kind {
		return int(k.Kind) - int(o.Kind)
	}
	return strings.Compare(k.Name, o.Name)
}

// Space returns the namespace in which names are unique: a package of the device if names are those of sections,
// otherwise the kind.
func (k Key) Space() string {
	if !k.Kind.Named() {
		return k.Kind.String()
	}
	return k.Module()
}

// Module returns the package of the device that the key's kind belongs to. What an object refers to by name is in the
// same package.
func (k Key) Module() string {
	module, _, _ := strings.Cut(k.Kind.String(), "/")
	return module
}

// ModuleOf returns the package of the device that a kind belongs to.
func ModuleOf(kind openwrt.Kind) string { return Key{Kind: kind}.Module() }

// Ref identifies an object of the device in plans.
func (k Key) Ref() object.Ref { return object.Ref{Kind: k.Kind.String(), Name: k.Name} }

// Sorted returns the keys of a map in order.
func Sorted[V any](m map[Key]V) []Key { return slices.SortedFunc(maps.Keys(m), Key.Compare) }
