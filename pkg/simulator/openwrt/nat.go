package openwrt

// natCollections is the module nat: rules of iptables, made at once.
func natCollections() []*collection {
	place := exactly(known("Interface", (*Device).hasLink), "#default", "#source")
	return []*collection{{
		module: "nat", plural: "nats", singular: "nat", pkg: "firewall-nat", typ: "nat", creates: true, script: "nat_rest",
		fields: []field{
			{name: "name"},
			{name: "src", check: place, message: "invalid src", code: "428"},
			{name: "src_ip", check: prefix, message: "invalid src_ip"},
			{name: "src_dip", check: prefix, message: "invalid src_dip"},
			{name: "src_port", check: above(0), message: "invalid src_port"},
			{name: "src_dport", check: above(0), message: "invalid src_port"}, // the message is the device's
			{name: "proto", check: protocols(), message: "invalid proto"},
			{name: "dest", check: place, message: "invalid dest", code: "428"},
			{name: "dest_ip", check: prefix, message: "invalid dest_ip"},
			{name: "dest_port", check: above(0), message: "invalid dest_port"},
			{name: "target", check: oneOf("DNAT", "SNAT", "MASQUERADE"), message: "invalid target"},
			{name: "index", check: above(-1), message: "invalid index"},
		},
		whole: natWhole,
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				chain, r := d.natRule(o)
				if at := o.text("index"); at != "" && at != "0" {
					d.kernel.insertRule(chain, atoi(at), d.serviceRules(chain), r)
				} else {
					d.kernel.appendRule(chain, r)
				}
				return nil
			})
		},
		gone: func(d *Device, _ *tx, o object) *refusal {
			d.kernel.deleteRule(d.natRule(o))
			return nil
		},
	}}
}

func natWhole(d *Device, o object) *refusal {
	switch o.text("target") {
	case "SNAT":
		if !o.has("src_dip") {
			return refuse(400, "src_dip is required for SNAT")
		}
		if !o.has("dest") {
			return refuse(400, "dest is required for SNAT")
		}
		if o.text("dest") == "#source" && d.ifaceOf(o.text("src_dip")) == "" {
			return refuse(428, "ip not found on all interfaces")
		}
	case "MASQUERADE":
		if !o.has("dest") {
			return refuse(400, "dest is required for SNAT MASQUERADE")
		}
	case "DNAT":
		if !o.has("dest_ip") && !o.has("dest_port") {
			return refuse(400, "dest_ip or dest_port are required for DNAT")
		}
	}
	return nil
}

// natRule is the rule for an object, and its chain.
func (d *Device) natRule(o object) (string, chainRule) {
	r := chainRule{proto: o.text("proto"), src: o.text("src_ip"), srcPort: o.text("src_port")}
	out := d.place(o.text("dest"), o.text("src_dip"))
	switch o.text("target") {
	case "SNAT":
		r.out, r.dst, r.dstPort, r.target = out, o.text("dest_ip"), o.text("dest_port"), "SNAT"
		r.to, r.toPort = o.text("src_dip"), o.text("src_dport")
		return natPost, r
	case "MASQUERADE":
		r.out, r.dst, r.dstPort, r.target = out, o.text("dest_ip"), o.text("dest_port"), "MASQUERADE"
		return natPost, r
	case "DNAT":
		r.in, r.dst, r.dstPort = d.place(o.text("src"), o.text("src_dip")), o.text("src_dip"), o.text("src_dport")
		r.target, r.to, r.toPort = "DNAT", o.text("dest_ip"), o.text("dest_port")
		if r.to == "" {
			r.target = "REDIRECT"
		}
		return natPre, r
	default:
		return natPre, r // a command without a target, which fails
	}
}
