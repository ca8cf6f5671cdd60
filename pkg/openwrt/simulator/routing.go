package simulator

import (
	"cmp"
	"net/netip"
	"slices"
)

// mwanPriority is the priority of mwan3's routing rules.
const mwanPriority = 2001

// route finds the outgoing interface. It returns false if there is none.
func (f *flight) route() bool {
	rules := f.rulesInOrder()
	early := slices.IndexFunc(rules, func(r ipRule) bool { return r.prio != "" && atoi(r.prio) >= mwanPriority })
	if early < 0 {
		early = len(rules)
	}
	if f.byRules(rules[:early]) {
		return true
	}
	if decided, found := f.byPolicy(); decided {
		return found
	}
	if f.byRules(rules[early:]) || f.byTable("main") {
		return true
	}
	f.step("no route")
	return false
}

// rulesInOrder sorts as the kernel does: a rule without a priority goes before all existing ones.
func (f *flight) rulesInOrder() []ipRule {
	rules := slices.Clone(f.d.kernel.rules)
	slices.Reverse(rules)
	slices.SortStableFunc(rules, func(a, b ipRule) int { return cmp.Compare(atoi(a.prio), atoi(b.prio)) })
	return rules
}

func (f *flight) byRules(rules []ipRule) bool {
	for _, r := range rules {
		if r.covers(f) && f.byTable(r.table) {
			f.step("ip rule %s", r)
			return true
		}
	}
	return false
}

func (r ipRule) covers(f *flight) bool {
	covered := (r.src == "" || prefixCovers(r.src, f.Src)) && (r.dst == "" || prefixCovers(r.dst, f.Dst)) && markCovers(r.mark, f.mark)
	return covered != r.not
}

// byTable uses the longest route of a table that covers the destination.
func (f *flight) byTable(table string) bool {
	length, out := -1, ""
	try := func(bits int, dev string) {
		if bits > length {
			length, out = bits, dev
		}
	}
	for _, r := range f.d.kernel.routes {
		if (r.table == table || r.table == "" && table == "main") && prefixCovers(r.dst, f.Dst) {
			try(bitsOf(r.dst), r.dev)
		}
	}
	if table == "main" {
		for _, i := range f.d.opts.Interfaces {
			if i.Address.Masked().Contains(f.Dst) {
				try(i.Address.Bits(), i.Name)
			}
			if i.Default {
				try(0, i.Name)
			}
		}
	}
	if length < 0 {
		return false
	}
	f.out = out
	return true
}

// bitsOf is the prefix length of a destination.
func bitsOf(dst string) int {
	if dst == "default" {
		return 0
	}
	if p, err := netip.ParsePrefix(dst); err == nil {
		return p.Bits()
	}
	return 32
}

// byPolicy applies mwan3, which leaves directly connected destinations alone. decided is false if no rule has a policy
// for the packet; found is true if the policy has a reachable interface.
func (f *flight) byPolicy() (decided, found bool) {
	for _, i := range f.d.opts.Interfaces {
		if i.Address.Masked().Contains(f.Dst) {
			return false, false
		}
	}
	sections := f.d.running["mwan3"]
	byID := func(typ, id string) *section {
		i := slices.IndexFunc(sections, func(s *section) bool { return s.typ == typ && s.id == id })
		if i < 0 {
			return nil
		}
		return sections[i]
	}
	for _, s := range sections {
		if s.typ != "rule" || !matchOf(s, "dest_ip", "dest_port", "all").covers(f) {
			continue
		}
		policy := byID("policy", s.text("use_policy"))
		if policy == nil {
			continue
		}
		best := 0
		for _, id := range policy.items("use_member") {
			m := byID("member", id)
			if m == nil || byID("interface", m.text("interface")) == nil {
				continue
			}
			i, metric := f.d.iface(m.text("interface")), max(1, atoi(m.text("metric")))
			if i == nil || i.Down || best > 0 && metric > best {
				continue
			}
			if metric < best {
				f.result.WANs = nil
			}
			best = metric
			f.result.WANs = append(f.result.WANs, i.Name)
		}
		f.step("%s: policy %s", named(s), policy.id)
		if len(f.result.WANs) == 0 {
			return true, false // nothing is reachable: the policy's last resort
		}
		f.out = f.result.WANs[0]
		return true, true
	}
	return false, false
}

// findTunnel looks for a connection of the running ipsec between subnets of the source and the destination.
func (f *flight) findTunnel() {
	sections := f.d.running["ipsec"]
	for _, remote := range sections {
		if remote.typ != "remote" || !isTrue(remote.text("enabled")) {
			continue
		}
		for _, name := range remote.items("tunnel") {
			for _, c := range sections {
				if c.typ == "tunnel" && c.id == name && c.text("local_subnet") != "" && c.text("remote_subnet") != "" &&
					anyCovers(words(c.text("local_subnet")), f.Src) && anyCovers(words(c.text("remote_subnet")), f.Dst) {
					f.result.Tunnel = remote.id + "/" + name
					f.step("tunnel %s", f.result.Tunnel)
					return
				}
			}
		}
	}
}
