package kernel

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// behind finds the applications that the kernel does not evaluate first, by the rules that it has for each: a rule that is not an
// application's comes before one of theirs. What has no priority is put before the first rule, so writing an application again puts it there.
func (k *State) behind(h *Held, of map[Rule]section.Key, tables map[Rule]string) map[section.Key]latecomer {
	var first Rule
	for r := range k.rules {
		like := Rule{Prio: r.Prio, Src: r.Src, Table: cmp.Or(r.Table, tables[r])}
		single := Selected(r.Src).IsSingleIP()
		if r.Prio == 0 || like.Table == cnfTable && single && r.is(like) {
			continue // nothing can be before it, or it is as those of applications
		}
		if first.Prio == 0 || r.Prio < first.Prio || r.Prio == first.Prio && r.String() < first.String() {
			first = r
		}
	}
	out := map[section.Key]latecomer{}
	for r, at := range of {
		if at.Kind != openwrt.Applications || first.Prio == 0 || r.Prio < first.Prio || h.Objects[at] == nil {
			continue
		}
		seen := min(k.rules[r].readings, k.rules[first].readings)
		if had, ok := out[at]; !ok || seen > had.seen {
			out[at] = latecomer{"the device has it, but the kernel evaluates another rule before it: " + first.String(), seen}
		}
	}
	return out
}

// CompareRules finds the rules that the kernel lacks of h, and those that it has in excess of what is or once was ours.
func (k *State) CompareRules(h *Held, caused *Caused, names section.Namer) Findings {
	type asked struct {
		rule Rule
		by   section.Key
	}
	f := NewFindings()
	var all []asked
	for _, at := range section.Sorted(h.Objects) {
		for _, r := range RulesOf(at.Kind, h.Objects[at]) {
			all = append(all, asked{r, at})
			caused.Rules[r] = 0
		}
	}
	for kind, list := range h.Others {
		for _, o := range list {
			for _, r := range RulesOf(kind, o) {
				all = append(all, asked{rule: r})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b asked) int { return -cmp.Compare(min(a.rule.Prio, 1), min(b.rule.Prio, 1)) })
	left, taken := k.rulesInOrder(), map[Rule]bool{}
	by, tables := map[Rule]section.Key{}, map[Rule]string{}
	for _, a := range all {
		i := slices.IndexFunc(left, func(r Rule) bool { return r.is(a.rule) })
		switch {
		case i >= 0:
			taken[left[i]], by[left[i]], tables[left[i]] = true, a.by, a.rule.Table
			left = slices.Delete(left, i, i+1)
		case a.by != section.Key{}:
			f.Absent[a.by] = "the device has it, but the kernel does not have the rule: " + a.rule.String()
		}
	}
	for _, r := range left {
		once, unclear := caused.ruleOf(r)
		if r.Prio == 0 || strings.Contains(r.Mark, "/") || taken[r] {
			continue // what the API cannot remove, or a line that was read twice
		}
		f.Unclear = cmp.Or(f.Unclear, unclear)
		if once != nil {
			tables[r] = once.Table
			shown := k.rules[r].readings
			r.Table = once.Table
			f.Surplus[r.String()] = leftover{r.object(names), shown}
		}
	}
	f.Behind = k.behind(h, by, tables)
	return f
}

// rulesInOrder lists the rules as the kernel evaluates them: of several copies, the first one counts.
func (k *State) rulesInOrder() []Rule {
	var out []Rule
	for r, shown := range k.rules {
		for range shown.copies {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Prio, b.Prio), strings.Compare(a.String(), b.String()))
	})
	return out
}

// CompareRoutes is CompareRules for routes.
func (k *State) CompareRoutes(h *Held, caused *Caused, names section.Namer) Findings {
	type place struct{ table, dst string }
	f := NewFindings()
	needed, found, filled := map[place]bool{}, map[place][]Route{}, map[string]bool{}
	all := slices.SortedFunc(maps.Keys(k.routes), func(a, b Route) int { return strings.Compare(a.String(), b.String()) })
	for _, r := range all {
		here := place{r.Table, r.dst}
		found[here], filled[r.Table] = append(found[here], r), true
	}
	for _, o := range h.Others[openwrt.Routes] {
		r := k.RouteOf(o)
		needed[place{r.Table, r.dst}] = true
	}
	for _, at := range section.Sorted(h.Objects) {
		if at.Kind != openwrt.Routes {
			continue
		}
		want := k.RouteOf(h.Objects[at])
		needed[place{want.Table, want.dst}] = true
		if !k.tables[want.Table] {
			continue // the device does not report its routes
		}
		if !filled[want.Table] {
			f.Empty[want.Table] = true
		}
		found := found[place{want.Table, want.dst}]
		if i := slices.IndexFunc(found, want.is); i >= 0 {
			caused.Routes[found[i].with(want)] = 0
			continue
		}
		why := "the device has it, but the kernel does not: is the next hop reachable through the interface?"
		for _, r := range found {
			why = "the device has it, but the kernel has another route: " + r.String()
			if once := caused.routeOf(r); once != nil {
				f.Surplus[once.String()] = leftover{once.object(names), k.routes[r]}
			}
		}
		f.Absent[at] = why
	}
	for _, r := range all {
		if once := caused.routeOf(r); once != nil && !needed[place{r.Table, r.dst}] {
			f.Surplus[once.String()] = leftover{once.object(names), k.routes[r]}
		}
	}
	return f
}
