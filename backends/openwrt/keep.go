package openwrt

import (
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Keep implements backends.Keeper. An object of the device is identified by its kind and its name.
func (b *Backend) Keep(objects []object.Ref) {
	b.keep = make(map[object.Ref]bool, len(objects))
	for _, o := range objects {
		b.keep[o] = true
	}
}

// guards reports whether firewall rules that accept packets have to match the bits of policies: there are policies to
// enforce, or rules are kept that may enforce some.
func (b *Backend) guards(m *model) bool {
	if len(m.enforced) > 0 {
		return true
	}
	for o := range b.keep {
		if o.Kind == openwrt.FirewallRules.String() {
			return true
		}
	}
	return false
}
