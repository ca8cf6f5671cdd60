package simulator

import (
	"net/netip"
	"slices"
)

// Where rules of the firewall service that mark packets stand, all in the table mangle: PREROUTING is before translation
// and the way out, FORWARD, INPUT and OUTPUT are after both and before the filter.
const (
	markAtOnce  = "PREROUTING"
	markForward = "FORWARD"
	markInput   = "INPUT"
	markOutput  = "OUTPUT"
	markLast    = "POSTROUTING" // after everything that asks for a mark
)

// markChain is where a rule that marks stands, as the service's version of OpenWRT 21.02 has it.
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

// marks applies the service's rules that mark in a chain. A zone stands for its interfaces there: its subnets do not
// count, and without interfaces it asks nothing.
func (f *flight) marks(chain string) {
	for _, s := range f.sections("rule") {
		src, dest := s.text("src"), s.text("dest")
		if s.text("target") == "MARK" && markChain(src, dest) == chain && f.ruleCovers(s) &&
			f.markZone(src, f.In, f.Src) && f.markZone(dest, f.out, f.Dst) {
			f.setMark(s.text("set_mark"), s.text("set_xmark"), named(s))
		}
	}
}

// markZone says whether a rule that marks and names a zone is for an interface. A rule about a zone that does not exist, or
// that is of another family, is none.
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
