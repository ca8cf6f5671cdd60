package openwrt

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ipRule is a routing rule: it selects the table for packets.
type ipRule struct {
	not      bool
	prio     string // "" lets the kernel choose
	src, dst string
	mark     string
	table    string

	preference uint32 // what the kernel has sorted it by
}

// String is the rule as on the command line, without the command.
func (r ipRule) String() string {
	var b strings.Builder
	if r.not {
		b.WriteString("not ")
	}
	for _, part := range [][2]string{{"prio", r.prio}, {"from", r.src}, {"to", r.dst}, {"lookup", r.table}, {"fwmark", r.mark}} {
		if part[1] != "" {
			b.WriteString(part[0] + " " + part[1] + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// The preferences of the rules that every pod has for the tables local, main and default.
const (
	mainPreference    = 32766
	defaultPreference = 32767
)

// possible reports whether the command accepts the rule: numbers have 32 bits and the command's notation, addresses are
// addresses. The scripts ignore its exit code.
func (r ipRule) possible() bool {
	number := func(s string) bool {
		_, err := strconv.ParseUint(s, 0, 32)
		return s == "" || err == nil
	}
	address := func(s string) bool {
		_, ok := parseNetwork(s)
		return s == "" || ok
	}
	return (slices.Contains(namedTables(), r.table) || number(r.table)) && number(r.prio) && number(r.mark) && address(r.src) && address(r.dst)
}

func namedTables() []string { return []string{"local", "main", "default"} }

// parseNetwork reads an address or a prefix.
func parseNetwork(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, true
	}
	a, err := netip.ParseAddr(s)
	return netip.PrefixFrom(a, a.BitLen()), err == nil
}

// addRule adds a rule in its place. Only a rule with a priority can be a duplicate, which the kernel rejects: without one the
// kernel chooses the next lower one each time.
func (k *kernel) addRule(r ipRule) {
	if !r.possible() {
		return
	}
	if r.prio == "" {
		r.preference = k.nextPreference()
	} else {
		r.preference = readUint(r.prio)
		if slices.ContainsFunc(k.rules, r.duplicates) {
			return
		}
	}
	i := slices.IndexFunc(k.rules, func(old ipRule) bool { return old.preference > r.preference })
	if i < 0 {
		i = len(k.rules)
	}
	k.rules = slices.Insert(k.rules, i, r)
}

// nextPreference is that of a new rule without a priority: one less than that of the first rule after the table local's.
func (k *kernel) nextPreference() uint32 {
	first := uint32(mainPreference)
	if len(k.rules) > 0 {
		first = k.rules[0].preference
	}
	if first == 0 {
		return 0
	}
	return first - 1
}

// duplicates reports whether the kernel rejects r while it has old: as for a deletion it compares only the networks that r
// names, and not whether a rule is inverted.
func (r ipRule) duplicates(old ipRule) bool {
	return r.preference == old.preference && r.table == old.table && r.names(old) && readUint(r.mark) == readUint(old.mark)
}

// names reports whether old has the networks that r names.
func (r ipRule) names(old ipRule) bool {
	named := func(want, got netip.Prefix) bool { return !want.IsValid() || want == got }
	return named(selector(r.src), selector(old.src)) && named(selector(r.dst), selector(old.dst))
}

// selector is the network of a rule, the zero one if it matches every address.
func selector(s string) netip.Prefix {
	p, ok := parseNetwork(s)
	if !ok || p.Bits() == 0 {
		return netip.Prefix{}
	}
	return p
}

// deleteIPRule removes the first rule that has everything that r names. What r does not name, and whether it is inverted, does
// not matter.
func (k *kernel) deleteIPRule(r ipRule) {
	if !r.possible() {
		return
	}
	i := slices.IndexFunc(k.rules, func(old ipRule) bool {
		return r.table == old.table && r.names(old) && (readUint(r.mark) == 0 || readUint(r.mark) == readUint(old.mark)) &&
			(r.prio == "" || readUint(r.prio) == old.preference)
	})
	if i >= 0 {
		k.rules = slices.Delete(k.rules, i, i+1)
	}
}
