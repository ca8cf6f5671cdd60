package openwrt

import (
	"net/netip"
	"slices"
)

// mwanPriority is the priority of mwan3's routing rules.
const mwanPriority = 2001

// route finds the outgoing interface. It returns false if there is none.
func (f *flight) route() bool {
	early, late := f.splitRules()
	if f.byRules(early) {
		return true
	}
	if decided, found := f.byPolicy(); decided {
		return found
	}
	if f.byRules(late) || f.byTable("main") {
		return true
	}
	f.step("no route")
	return false
}

// splitRules are the rules before and after those of mwan3, which are not in the list. A rule without a priority went before all that existed
// when it was made, and so before those of mwan3, unless it is behind one that is behind them.
func (f *flight) splitRules() (early, late []ipRule) {
	for _, r := range f.d.kernel.rules {
		if len(late) == 0 && (r.prio == "" || r.preference < mwanPriority) {
			early = append(early, r)
		} else {
			late = append(late, r)
		}
	}
	return early, late
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
	if table == "main" {
		table = ""
	}
	for _, r := range f.d.routes(table) {
		if prefixCovers(r.dst, f.Dst) {
			try(bitsOf(r.dst), r.dev)
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
