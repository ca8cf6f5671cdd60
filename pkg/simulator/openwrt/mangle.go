package openwrt

import (
	"net/netip"
	"slices"
)

// The chains for the firewall service's rules that mark packets, all in the table mangle: PREROUTING comes before DNAT
// and routing; FORWARD, INPUT and OUTPUT come after both and before the filter.
const (
	markAtOnce  = "PREROUTING"
	markForward = "FORWARD"
	markInput   = "INPUT"
	markOutput  = "OUTPUT"
	markLast    = "POSTROUTING" // after everything that asks for a mark
)

// markChain is the chain of a rule that marks, as in OpenWRT 21.02.
func markChain(src, dest string) string {
	named := func(zone string) bool { return zone != "" && zone != "*" }
	switch {
	case named(src) && named(dest), src == "*" && dest == "*":
		return markForward
	case src == "*" && named(dest):
		return markLast
	case named(src) && dest == "*":
		return markAtOnce
	case src != "":
		return markInput
	default:
		return markOutput
	}
}

// marks applies the service's rules that mark in a chain. A zone means its interfaces there: its subnets do not count,
// and a zone without interfaces matches everything.
func (f *flight) marks(chain string) {
	for _, s := range f.sections("rule") {
		src, dest := s.text("src"), s.text("dest")
		if s.text("target") == "MARK" && markChain(src, dest) == chain && f.ruleCovers(s) &&
			f.markZone(src, f.In, f.Src) && f.markZone(dest, f.out, f.Dst) {
			f.setMark(s.text("set_mark"), s.text("set_xmark"), named(s))
		}
	}
}

// markZone reports whether a rule that marks and has a zone matches an interface. A rule with a zone that does not exist,
// or that is of another family, is skipped.
func (f *flight) markZone(name, iface string, beyond netip.Addr) bool {
	if name == "" || name == "*" {
		return true
	}
	for _, z := range f.sections("zone") {
		if z.text("name") == name {
			networks := z.items("network")
			return familyCovers(z.text("family"), beyond) && (len(networks) == 0 ||
				slices.ContainsFunc(networks, func(n string) bool { return f.device(n) == iface }))
		}
	}
	return false
}
