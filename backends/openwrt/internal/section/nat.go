package section

import "github.com/netloom/netloom/pkg/openwrt"

// impossiblePlace is a place that no chain has: the device stores a translation with it, and iptables adds none.
const impossiblePlace = "2147483647"

// WithoutPlace returns a translation that the device stores without effect.
func WithoutPlace(o openwrt.Object) openwrt.Object {
	out := openwrt.Object{}
	for f, v := range o {
		out[f] = v
	}
	out["index"] = impossiblePlace
	return out
}
