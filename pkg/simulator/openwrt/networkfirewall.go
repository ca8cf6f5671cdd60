package openwrt

import "strings"

// networkFirewallCollections is the module networkfirewall: rules of iptables between interfaces, made at once.
func networkFirewallCollections() []*collection {
	const script = "fw_rest"
	fields := follow(ruleFields(nil, "address-mask-request"), "src", field{name: "src_val"})
	fields = follow(fields, "dest", field{name: "dest_val"})
	return []*collection{{
		module: "networkfirewall", plural: "rules", singular: "rule", pkg: "firewall-rule", typ: "rule", creates: true, script: script,
		fields: append([]field{{name: "name"}}, fields...),
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
				if !d.hasLink(name) {
					return refuse(428, "Field[%s] checked failed: Invalid interface", end)
				}
				o[end+"_val"] = name
			}
			return nil
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				chain, rules, no := networkRules(script, o)
				for _, r := range rules {
					d.kernel.appendRule(chain, r)
				}
				return no
			})
		},
		gone: func(d *Device, _ *tx, o object) *refusal {
			chain, rules, no := networkRules(script, o)
			for _, r := range rules {
				d.kernel.deleteRule(chain, r)
			}
			return no
		},
	}}
}

// networkRules are the rules for an object, and their chain. The script reads the field extra and does not use it, and it
// aborts on an object that lacks what every command needs.
func networkRules(script string, o object) (string, []chainRule, *refusal) {
	for _, name := range []string{"src_val", "target"} {
		if !o.has(name) {
			return "", nil, fault(script, "attempt to concatenate local '"+name+"' (a nil value)")
		}
	}
	types, typed := o["icmp_type"].([]string)
	if o.text("proto") == "icmp" && !typed {
		return "", nil, fault(script, "attempt to get length of local 'icmp_type' (a nil value)")
	}
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
		return chain, nil, nil // only possible in a table that the script does not use
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
		for _, t := range types {
			r.proto, r.icmp = proto, t
			rules = append(rules, r)
		}
	default:
		r.proto = proto
		rules = append(rules, r)
	}
	return chain, rules, nil
}
