package openwrt

import (
	"net/netip"
	"slices"
)

// sections lists those of the running firewall; none if it is stopped.
func (f *flight) sections(typ string) []*section {
	var out []*section
	for _, s := range f.d.running[firewallName] {
		if s.typ != typ || s.text("enabled") == "0" {
			continue
		}
		_, modelled := parseExtra(s.text("extra"))
		if !modelled || s.text("extra_src") != "" || s.text("etra_dest") != "" {
			if !slices.Contains(f.result.Unknown, named(s)) {
				f.result.Unknown = append(f.result.Unknown, named(s))
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// policy is the default policy of a hook; a stopped firewall lets everything pass.
func (f *flight) policy(hook string) string {
	if _, runs := f.d.running[firewallName]; !runs {
		return "ACCEPT"
	}
	for _, s := range f.sections("defaults") {
		if p := s.text(hook); p != "" {
			return p
		}
	}
	return "REJECT"
}

// covers reports whether a zone has an interface, and the address beyond it if the zone has subnets.
func (f *flight) covers(zone *section, iface string, beyond netip.Addr) bool {
	if !familyCovers(zone.text("family"), beyond) {
		return false
	}
	networks, subnets := zone.items("network"), zone.items("subnet")
	if len(networks) == 0 && len(subnets) == 0 {
		return false
	}
	in := len(networks) == 0 || slices.ContainsFunc(networks, func(n string) bool { return f.device(n) == iface })
	return in && anyCovers(subnets, beyond)
}

// device is the interface of the pod for a network.
func (f *flight) device(network string) string {
	if s := f.d.pkg("network").byID(network); s != nil {
		for _, option := range []string{"device", "ifname"} {
			if name := s.text(option); name != "" {
				return name
			}
		}
	}
	return network
}

// zoneCovers is covers for a zone by name; * is every zone.
func (f *flight) zoneCovers(name, iface string, beyond netip.Addr) bool {
	return name == "*" || slices.ContainsFunc(f.sections("zone"), func(z *section) bool {
		return z.text("name") == name && f.covers(z, iface, beyond)
	})
}

// ruleCovers reports whether the packet matches a rule of the service, apart from its zones.
func (f *flight) ruleCovers(s *section) bool {
	further, _ := parseExtra(s.text("extra"))
	return matchOf(s, "dest_ip", "dest_port", "tcpudp").covers(f) && further.covers(f)
}

// filter walks a chain: rules made at once, and those of the service at their place. ok is false if the service has no
// verdict; without any verdict the defaults apply.
func (f *flight) filter(chain string, service func() (Verdict, bool), hook string) Verdict {
	rules := f.d.kernel.chains[chain]
	if chain == "" {
		rules = []chainRule{{service: true}} // scripts add nothing to it
	}
	for _, r := range rules {
		if r.service {
			if v, ok := service(); ok {
				return v
			}
			if f.policy(hook) == "REJECT" {
				f.step("defaults: %s", hook)
				return Reject
			}
			continue
		}
		if r.target != "" && r.match().covers(f) {
			f.step("%s", r.spec())
			v, _ := verdictOf(r.target)
			return v
		}
	}
	f.step("defaults: %s", hook)
	v, _ := verdictOf(f.policy(hook))
	return v
}

// verdictOf is the verdict of a target; ok is false for one that decides nothing.
func verdictOf(target string) (v Verdict, ok bool) {
	switch target {
	case "ACCEPT":
		return Accept, true
	case "DROP":
		return Drop, true
	case "REJECT", "": // a rule without a target rejects
		return Reject, true
	default:
		return Drop, false
	}
}

// rules applies the rules of the service whose zones match according to place.
func (f *flight) rules(place func(src, dest string) bool) (Verdict, bool) {
	for _, s := range f.sections("rule") {
		v, decides := verdictOf(s.text("target"))
		if decides && place(s.text("src"), s.text("dest")) && f.ruleCovers(s) {
			f.step("%s", named(s))
			return v, true
		}
	}
	return Drop, false
}

// serviceInput is the verdict of the service for a packet to the device.
func (f *flight) serviceInput() (Verdict, bool) {
	if v, ok := f.rules(func(src, dest string) bool { return src == "*" && dest == "" }); ok {
		return v, true
	}
	for _, z := range f.sections("zone") {
		if !f.covers(z, f.In, f.Src) {
			continue
		}
		if v, ok := f.rules(func(src, dest string) bool { return src == z.text("name") && dest == "" }); ok {
			return v, true
		}
		if f.translated && f.takesTranslated(z) {
			f.step("%s: translated", named(z))
			return Accept, true
		}
		f.step("%s: input", named(z))
		return verdictOf(f.zonePolicy(z, "input"))
	}
	return Drop, false
}

// serviceForward is the verdict of the service for a forwarded packet.
func (f *flight) serviceForward() (Verdict, bool) {
	goesTo := func(zone string) bool { return zone != "" && f.zoneCovers(zone, f.out, f.Dst) }
	if v, ok := f.rules(func(src, dest string) bool { return src == "*" && goesTo(dest) }); ok {
		return v, true
	}
	for _, z := range f.sections("zone") {
		if !f.covers(z, f.In, f.Src) {
			continue
		}
		name := z.text("name")
		if v, ok := f.rules(func(src, dest string) bool { return src == name && goesTo(dest) }); ok {
			return v, true
		}
		for _, s := range f.sections("forwarding") {
			if (s.text("src") == name || s.text("src") == "*") && familyCovers(s.text("family"), f.Dst) && goesTo(s.text("dest")) {
				f.step("%s", named(s))
				return Accept, true
			}
		}
		if f.translated && f.takesTranslated(z) {
			f.step("%s: translated", named(z))
			return Accept, true
		}
		if f.covers(z, f.out, f.Dst) {
			f.step("%s: forward", named(z))
			return verdictOf(f.zonePolicy(z, "forward"))
		}
	}
	return Drop, false
}

// serviceOutput is the verdict of the service for a packet from the device.
func (f *flight) serviceOutput() (Verdict, bool) {
	if v, ok := f.rules(func(src, dest string) bool {
		return src == "" && (dest == "" || f.zoneCovers(dest, f.out, f.Dst))
	}); ok {
		return v, true
	}
	for _, z := range f.sections("zone") {
		if f.covers(z, f.out, f.Dst) {
			f.step("%s: output", named(z))
			return verdictOf(f.zonePolicy(z, "output"))
		}
	}
	return Drop, false
}

// takesTranslated reports whether a zone lets every translated packet pass: the service adds that for a zone with
// redirects.
func (f *flight) takesTranslated(z *section) bool {
	return slices.ContainsFunc(f.sections("redirect"), func(s *section) bool {
		return s.text("target") != "SNAT" && (s.text("src") == z.text("name") || s.text("src") == "*")
	})
}

// zonePolicy is the policy of a zone, or the default one if it has none.
func (f *flight) zonePolicy(z *section, hook string) string {
	if p := z.text(hook); p != "" {
		return p
	}
	return f.policy(hook)
}

// serviceRules is how many rules the service has in a chain of the table nat: a hook for users, and one for each
// interface of each zone.
func (d *Device) serviceRules(string) int {
	if _, runs := d.running[firewallName]; !runs {
		return 0
	}
	n := 1
	for _, s := range d.running[firewallName] {
		if s.typ == "zone" {
			n += max(1, len(s.items("network"))) * max(1, len(s.items("subnet")))
		}
	}
	return n
}
