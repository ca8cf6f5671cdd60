package simulator

import "strings"

// networkFirewallCollections is the module networkfirewall: rules of iptables between interfaces, made at once.
func networkFirewallCollections() []*collection {
	const script = "fw_rest"
	fields := append([]field{{name: "name"}}, matchFields(nil)...)
	return []*collection{{
		module: "networkfirewall", plural: "rules", singular: "rule", pkg: "firewall-rule", typ: "rule", script: script,
		fields: append(fields,
			field{name: "src_val"}, field{name: "dest_val"},
			field{name: "icmp_type", item: oneOf(append(icmpTypes(), "address-mask-request")...), list: true, message: "invalid icmp_type"},
			field{name: "target", check: oneOf("ACCEPT", "REJECT", "DROP", "MARK", "NOTRACK"), message: "invalid target"},
			field{name: "set_mark"}, field{name: "set_xmark"},
			field{name: "family", check: oneOf("ipv4", "ipv6", "any"), message: "invalid family"},
			field{name: "extra"},
		),
		whole: func(d *Device, o object) *refusal {
			if no := markWhole(d, o); no != nil {
				return no
			}
			if !o.has("src") {
				return fault(script, "bad argument #1 to 'find' (string expected, got nil)")
			}
			for _, end := range []string{"src", "dest"} {
				if !o.has(end) {
					continue
				}
				name := d.place(o.text(end), "")
				if d.iface(name) == nil {
					return refuse(428, "Field[%s] checked failed: Invalid interface", end)
				}
				o[end+"_val"] = name
			}
			return nil
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				if !o.has("target") {
					return fault(script, "attempt to concatenate local 'target' (a nil value)")
				}
				if o.text("proto") == "icmp" && !o.has("icmp_type") {
					return fault(script, "attempt to get length of local 'icmp_type' (a nil value)")
				}
				chain, rules := networkRules(o)
				for _, r := range rules {
					d.kernel.appendRule(chain, r)
				}
				return nil
			})
		},
		gone: func(d *Device, _ *tx, o object) {
			chain, rules := networkRules(o)
			for _, r := range rules {
				d.kernel.deleteRule(chain, r)
			}
		},
	}}
}

// networkRules are the rules for an object, and their chain.
func networkRules(o object) (string, []chainRule) {
	chain := filterIn
	r := chainRule{
		in: o.text("src_val"), src: o.text("src_ip"), dst: o.text("dest_ip"), mac: o.text("src_mac"), mark: o.text("mark"),
		target: o.text("target"),
	}
	switch {
	case r.target == "MARK":
		chain = mangle
		if r.setMark = o.text("set_xmark"); r.setMark == "" {
			r.setMark = o.text("set_mark")
		}
	case o.has("dest_val"):
		chain, r.out = filterFw, o.text("dest_val")
	}
	if r.target == "NOTRACK" {
		return chain, nil // only possible in a table that the script does not use
	}
	var rules []chainRule
	switch proto := o.text("proto"); proto {
	case "", "all":
		rules = append(rules, r)
	case "tcp", "udp", "tcpudp":
		r.srcPort, r.dstPort = o.text("src_port"), o.text("dest_port")
		for _, one := range []string{"tcp", "udp"} {
			if strings.Contains(proto, one) {
				r.proto = one
				rules = append(rules, r)
			}
		}
	case "icmp":
		types, _ := o["icmp_type"].([]string)
		for _, t := range types {
			r.proto, r.icmp = proto, t
			rules = append(rules, r)
		}
	default:
		r.proto = proto
		rules = append(rules, r)
	}
	return chain, rules
}
