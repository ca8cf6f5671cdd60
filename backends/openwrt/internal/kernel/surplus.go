package kernel

import "github.com/netloom/netloom/pkg/openwrt"

// SurplusKind returns the kind of an object in findings.
func SurplusKind(o openwrt.Object) openwrt.Kind {
	if _, isRoute := o["dev"]; isRoute {
		return openwrt.Routes
	}
	return openwrt.RouteRules
}
