package openwrt

import "slices"

const (
	nameTooLong  = "The length of Name shall not exceed 11 characters"
	longestZone  = 11
	firewallName = "firewall"
)

// firewallCollections are zones, redirects, rules and forwardings.
func firewallCollections() []*collection {
	policy := oneOf("ACCEPT", "REJECT", "DROP")
	flag, family := oneOf("0", "1"), oneOf("ipv4", "ipv6", "any")
	zone := known("Zone", func(d *Device, name string) bool { return d.find(firewallName, "zone", name) != nil })
	of := func(plural, singular string, fields ...field) *collection {
		return &collection{
			module: firewallName, plural: plural, singular: singular, pkg: firewallName, typ: singular, script: "firewall_rest",
			fields: append([]field{{name: "name"}}, fields...),
		}
	}
	zones := of("zones", "zone",
		field{name: "network", item: sectionOf("Interface", "network"), message: "invalid network"},
		field{name: "masq", check: flag, message: "invalid masq"},
		field{name: "masq_src", item: textual(isNegatable), message: "invalid masq_src"},
		field{name: "masq_dest", item: textual(isNegatable), message: "invalid masq_dest"},
		field{name: "masq_allow_invalid", check: flag, message: "invalid masq_allow_invalid"},
		field{name: "mtu_fix", check: flag, message: "invalid mtu_fix"},
		field{name: "input", check: policy, message: "invalid input"},
		field{name: "forward", check: policy, message: "invalid forward"},
		field{name: "output", check: policy, message: "invalid output"},
		field{name: "family", check: family, message: "invalid family"},
		field{name: "subnet", item: prefix, message: "invalid subnet"},
		field{name: "extra_src"}, field{name: "etra_dest"}, // the device's spelling
	)
	zones.fields[0] = field{name: "name", check: zoneName, message: "invalid zone name"}
	zones.used = zoneUsed
	translated := follow(matchFields(zone), "src_ip", field{name: "src_dip", check: prefix, message: "invalid src_dip"})
	translated = follow(translated, "src_port", field{name: "src_dport", check: above(0), message: "invalid src_port"}) // the device's message
	redirects := of("redirects", "redirect", append(translated,
		field{name: "target", check: oneOf("DNAT", "SNAT"), message: "invalid target"},
		field{name: "family", check: family, message: "invalid family"},
	)...)
	redirects.whole = redirectWhole
	rules := of("rules", "rule", ruleFields(zone, "address-mask-request ")...)
	rules.whole = markWhole
	forwardings := of("forwardings", "forwarding",
		field{name: "src", check: zone, message: "invalid src"},
		field{name: "dest", check: zone, message: "invalid dest"},
		field{name: "family", check: family, message: "invalid family"},
	)
	return []*collection{zones, redirects, rules, forwardings}
}

// matchFields are the fields by which rules and redirects match packets. Places are zones or interfaces.
func matchFields(place check) []field {
	return []field{
		{name: "src", check: place, message: "invalid src"},
		{name: "src_ip", check: prefix, message: "invalid src_ip"},
		{name: "src_mac", check: textual(isMAC), message: "invalid src_mac"},
		{name: "src_port", check: above(0), message: "invalid src_port"},
		{name: "proto", check: protocols(), message: "invalid proto"},
		{name: "dest", check: place, message: "invalid dest"},
		{name: "dest_ip", check: prefix, message: "invalid dest_ip"},
		{name: "dest_port", check: above(0), message: "invalid dest_port"},
		{name: "mark"},
	}
}

// ruleFields are the fields of rules. mask is the module's spelling of a type of ICMP.
func ruleFields(place check, mask string) []field {
	types := oneOf(append(icmpTypes(), mask)...)
	return append(follow(matchFields(place), "proto", field{name: "icmp_type", item: types, list: true, message: "invalid icmp_type"}),
		field{name: "target", check: oneOf("ACCEPT", "REJECT", "DROP", "MARK", "NOTRACK"), message: "invalid target"},
		field{name: "set_mark"}, field{name: "set_xmark"},
		field{name: "family", check: oneOf("ipv4", "ipv6", "any"), message: "invalid family"},
		field{name: "extra"},
	)
}

// follow adds a field after the one of that name. The order is that of the checks.
func follow(fields []field, name string, f field) []field {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	return slices.Insert(fields, i+1, f)
}

func protocols() check {
	return oneOf("tcp", "udp", "tcpudp", "udplite", "icmp", "esp", "ah", "sctp", "all")
}

func zoneName(_ *Device, v any) finding {
	s, ok := asText(v)
	switch {
	case !ok:
		return finding{died: true}
	case len(s) > longestZone:
		return finding{detail: nameTooLong}
	}
	return finding{ok: true}
}

func zoneUsed(d *Device, name string) bool {
	return slices.ContainsFunc(d.ofType(firewallName, "rule", "forwarding", "redirect"), func(s *section) bool {
		return s.text("src") == name || s.text("dest") == name
	})
}

func redirectWhole(_ *Device, o object) *refusal {
	switch target := o.text("target"); {
	case target == "SNAT" && !o.has("src_dip"):
		return refuse(400, "src_dip is required for SNAT")
	case target == "SNAT" && !o.has("dest"):
		return refuse(400, "dest is required for SNAT")
	case target == "DNAT" && !o.has("src"):
		return refuse(400, "src is required for DNAT")
	}
	return nil
}

func markWhole(_ *Device, o object) *refusal {
	if o.text("target") == "MARK" && !o.has("set_mark") && !o.has("set_xmark") {
		return refuse(400, "set_mark or set_xmark is required for MARK")
	}
	return nil
}
