package firewall

import (
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Zone returns a zone without interfaces. A rule that marks and names it applies to packets between any two
// interfaces, so one rule replaces one for every two zones. It must be created before the rules, and deleted after
// them.
func Zone(names section.Namer) openwrt.Zone {
	return openwrt.Zone{Name: names.Object(openwrt.Zones, "policies", ""), Input: "REJECT", Forward: "REJECT", Output: "REJECT"}
}

// IsZone reports whether a zone that is not ours is the Zone of some owner, which no packet is ever in.
func IsZone(o openwrt.Object) bool {
	name := o.Name()
	made := section.IsZoneName(name)
	return made && len(openwrt.Diff(openwrt.Zones, o, openwrt.ObjectOf(openwrt.Zone{
		Name: name, Input: "REJECT", Forward: "REJECT", Output: "REJECT",
	}))) == 0
}
