package openwrt

import "slices"

// mwan3Collections are policies and rules of mwan3.
func mwan3Collections() []*collection {
	return []*collection{
		{
			module: "mwan3", plural: "policies", singular: "policy", pkg: "mwan3", typ: "policy", named: true, script: "mwan3_rest",
			fields: []field{{name: "name"}, {name: "members", items: memberFields(), message: "Incorrect policy member"}},
			create: createPolicy, load: loadPolicy, used: policyUsed, gone: dropMembers,
		},
		{
			module: "mwan3", plural: "rules", singular: "rule", pkg: "mwan3", typ: "rule", named: true, script: "mwan3_rest",
			fields: []field{
				{name: "name"},
				{name: "policy", option: "use_policy", check: sectionOf("Policy", "mwan3"), message: "invalid policy"},
				{name: "src_ip", check: prefix, message: "invalid ip address"},
				{name: "src_port", check: above(0), message: "invalid src_port"},
				{name: "dest_ip", check: prefix, message: "invalid ip address"},
				{name: "dest_port", check: above(0), message: "invalid dest_port"},
				{name: "proto", check: oneOf("tcp", "udp", "icmp", "all"), message: "wrong proto"},
				{name: "family", check: oneOf("ipv4", "ipv6", "all"), message: "wrong family"},
				{name: "sticky", check: oneOf("0", "1"), message: "wrong sticky"},
				{name: "timeout", check: above(0), message: "invalid timeout"},
			},
		},
	}
}

func memberFields() []field {
	return []field{
		{name: "interface", check: sectionOf("Interface", "mwan3"), message: "invalid interface"},
		{name: "metric", check: above(0), message: "metric should be greater than 0"},
		{name: "weight", check: above(0), message: "weight should be greater than 0"},
	}
}

// createPolicy stores a policy as one section for itself and one for each member.
func createPolicy(d *Device, c *collection, o object) *refusal {
	t := d.begin(c.pkg)
	name := o.text("name")
	if t.exists(name) {
		return refuse(409, "Conflict")
	}
	members, ok := o["members"].([]object)
	if !ok {
		return fault(c.script, "attempt to get length of local 'members' (a nil value)")
	}
	var names []string
	for _, m := range members {
		if !m.has("interface") {
			return fault(c.script, "attempt to concatenate field 'interface' (a nil value)")
		}
		id := name + "_" + m.text("interface")
		if slices.Contains(names, id) {
			return refuse(400, "Same interface is used in different members")
		}
		names = append(names, id)
	}
	for i, m := range members {
		keep(t.add("member", names[i], true), memberFields(), m, false)
	}
	t.add(c.typ, name, true).setList("use_member", names)
	t.commit()
	return nil
}

func loadPolicy(d *Device, c *collection, s *section) (object, *refusal) {
	if s.option("use_member") == nil {
		return nil, fault(c.script, "attempt to get length of local 'members' (a nil value)")
	}
	members := []object{}
	for _, id := range s.items("use_member") {
		if m := d.section("mwan3", id); m != nil {
			members = append(members, read(m, memberFields()))
		}
	}
	return object{"name": s.id, "members": members}, nil
}

func policyUsed(d *Device, name string) bool {
	return slices.ContainsFunc(d.ofType("mwan3", "rule"), func(s *section) bool { return s.text("use_policy") == name })
}

func dropMembers(_ *Device, t *tx, o object) *refusal {
	members, _ := o["members"].([]object)
	t.remove(func(s *section) bool {
		return slices.ContainsFunc(members, func(m object) bool { return m.text("name") == s.id })
	})
	return nil
}
