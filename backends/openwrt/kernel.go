package openwrt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/openwrt"
)

// The routes and routing rules of the kernel. The device runs a command for each write and ignores whether it worked, and the kernel
// outlives a container that loses its configuration: so the lists of the device say nothing about the kernel.

// kernelRule is a routing rule. A priority of 0 is any: the kernel then chooses one. A table that is not known is "".
type kernelRule struct {
	prio                  uint64
	not                   bool
	src, dst, mark, table string
}

// is reports whether the kernel's r is the rule that an object stands for. Its table may not be known.
func (r kernelRule) is(o kernelRule) bool {
	if o.prio == 0 {
		r.prio = 0
	}
	if r.table == "" {
		r.table = o.table
	}
	return r == o
}

// String formats the rule as for the command that makes it.
func (r kernelRule) String() string {
	var words []string
	if r.not {
		words = append(words, "not")
	}
	prio := ""
	if r.prio != 0 {
		prio = strconv.FormatUint(r.prio, 10)
	}
	for _, p := range [][2]string{{"prio", prio}, {"from", r.src}, {"to", r.dst}, {"fwmark", r.mark}, {"lookup", r.table}} {
		if p[1] != "" {
			words = append(words, p[0], p[1])
		}
	}
	return strings.Join(words, " ")
}

// object returns the object with which the device removes exactly this rule.
func (r kernelRule) object(names namer) openwrt.Object {
	return openwrt.ObjectOf(openwrt.RouteRule{
		Name: names.object(openwrt.RouteRules, "surplus "+r.String(), ""), Src: r.src, Dst: r.dst,
		Prio: strconv.FormatUint(r.prio, 10), Table: r.table, FWMark: r.mark, Not: r.not,
	})
}

// kernelRoute is a route. An interface that is not known is "".
type kernelRoute struct{ table, dst, via, dev string }

// String formats the route as for the command that makes it.
func (r kernelRoute) String() string {
	text := r.dst
	if r.via != "" {
		text += " via " + r.via
	}
	if r.dev != "" {
		text += " dev " + r.dev
	}
	return text + " in table " + r.table
}

// is reports whether the kernel has r as o.
func (r kernelRoute) is(o kernelRoute) bool {
	return r.table == o.table && r.dst == o.dst && r.via == o.via && (r.dev == o.dev || r.dev == "" || o.dev == "")
}

// with returns the route with the interface of another that it is.
func (r kernelRoute) with(o kernelRoute) kernelRoute {
	r.dev = orWord(r.dev, o.dev)
	return r
}

// object returns the object with which the device removes exactly this route.
func (r kernelRoute) object(names namer) openwrt.Object {
	table := "default"
	if r.table == cnfTable {
		table = "cnf"
	}
	return openwrt.ObjectOf(openwrt.Route{
		Name: names.object(openwrt.Routes, "surplus "+r.String(), ""), Dst: r.dst, GW: r.via, Dev: r.dev, Table: table,
	})
}

const (
	mainTable = "main"
	cnfTable  = "40" // of routes for the table cnf, and of applications
)

// kernel is what the kernel has, as far as the readings of one part of it show: the rules, or the routes.
type kernel struct {
	readings int
	rules    map[kernelRule]shownRule
	routes   map[kernelRoute]int // in how many readings
	tables   map[string]bool     // whose routes are reported: those that a rule refers to
	dev      string              // of the default route
}

// shownRule is how the readings show a rule.
type shownRule struct {
	readings int // how many
	copies   int // how many in one of them; the kernel has no two equal rules, but of a rule without its table there may be several
}

func newKernel() *kernel {
	return &kernel{rules: map[kernelRule]shownRule{}, routes: map[kernelRoute]int{}, tables: map[string]bool{}}
}

// readRules adds the status of the rules. A newer command ends its lines without a blank, and the device then loses the last word of
// each: the table.
func (k *kernel) readRules(status json.RawMessage) error {
	var list []struct {
		Src, Dst, Prio, FWMark, Table, Not string
	}
	if json.Unmarshal(status, &list) != nil {
		return errors.New("not a list of rules")
	}
	if len(list) == 0 {
		return errors.New("no rules, not even that of the table main")
	}
	copies := map[kernelRule]int{}
	for _, r := range list {
		prio, err := strconv.ParseUint(strings.TrimSpace(r.Prio), 10, 64)
		if err != nil {
			return fmt.Errorf("a rule with priority %q", r.Prio)
		}
		rule := kernelRule{prio, r.Not == "true", prefixName(r.Src), prefixName(r.Dst), markName(r.FWMark), r.Table}
		if rule.table != "" {
			rule.table = tableName(rule.table)
		} else if rule == (kernelRule{prio: prio}) {
			rule.table = everyPodsRules()[prio]
		}
		if copies[rule]++; rule.table != "" {
			copies[rule] = 1
		}
	}
	for r, n := range copies {
		shown := k.rules[r]
		k.rules[r] = shownRule{shown.readings + 1, max(shown.copies, n)}
	}
	return nil
}

// everyPodsRules returns the tables of the rules that every pod has, by priority.
func everyPodsRules() map[uint64]string {
	return map[uint64]string{0: "local", 32766: mainTable, 32767: "default"}
}

// readRoutes adds the status of the routes.
func (k *kernel) readRoutes(status json.RawMessage) error {
	var list map[string]struct {
		Item []struct{ Destination, Gateway, Device string }
	}
	if json.Unmarshal(status, &list) != nil || len(list) == 0 {
		return errors.New("not the routes of tables")
	}
	tables, routes := map[string]bool{}, map[kernelRoute]bool{}
	for name, t := range list {
		table := tableName(name)
		tables[table] = true
		for _, r := range t.Item {
			routes[kernelRoute{table, routeName(r.Destination), r.Gateway, r.Device}] = true
			if table == mainTable && r.Destination == "default" && k.dev == "" {
				k.dev = r.Device
			}
		}
	}
	for t := range k.tables {
		if !tables[t] {
			return fmt.Errorf("table %s comes and goes", t)
		}
	}
	k.tables = tables
	for r := range routes {
		k.routes[r]++
	}
	return nil
}

// prefixName formats a prefix of a rule as the kernel does; "" for any address.
func prefixName(text string) string {
	if text = routeName(text); text == "default" || text == "all" {
		return ""
	}
	return text
}

// routeName formats a destination as the kernel does.
func routeName(text string) string {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return text
	case p.Bits() == 0:
		return "default"
	case p.IsSingleIP():
		return p.Addr().String()
	default:
		return p.Masked().String()
	}
}

func markName(text string) string {
	value, mask, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(value, 0, 32)
	if err != nil {
		return text
	}
	value = fmt.Sprintf("%#x", n)
	if m, err := strconv.ParseUint(mask, 0, 32); err == nil && m != 1<<32-1 {
		value += fmt.Sprintf("/%#x", m)
	}
	return value
}

func tableName(text string) string {
	names := map[string]string{"": mainTable, "253": "default", "254": mainTable, "255": "local", "prelocal": "128", "cnf": cnfTable}
	if name, ok := names[text]; ok {
		return name
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return text
}

// rulesOf returns the routing rules that an object stands for.
func rulesOf(kind openwrt.Kind, o openwrt.Object) []kernelRule {
	if kind == openwrt.RouteRules {
		not, _ := o["flag"].(bool)
		prio, _ := strconv.ParseUint(textIn(o, "prio"), 10, 64)
		return []kernelRule{{
			prio, not, prefixName(textIn(o, "src")), prefixName(textIn(o, "dst")), markName(textIn(o, "fwmark")), tableName(textIn(o, "table")),
		}}
	}
	var out []kernelRule
	if kind == openwrt.Applications {
		for a := range strings.SplitSeq(textIn(o, "iplist"), ",") {
			if a != "" {
				out = append(out, kernelRule{src: a, table: cnfTable})
			}
		}
	}
	return out
}

// routeOf returns the route that an object stands for.
func (k *kernel) routeOf(o openwrt.Object) kernelRoute {
	r := kernelRoute{mainTable, routeName(textIn(o, "dst")), textIn(o, "gw"), textIn(o, "dev")}
	if textIn(o, "table") == "cnf" {
		r.table = cnfTable
	}
	if r.dev == "#default" {
		r.dev = k.dev
	}
	if strings.HasPrefix(r.dev, "#") {
		r.dev = ""
	}
	return r
}

// compareRules finds the rules that the kernel lacks of h, and those that it has in excess of what is or once was ours.
func (k *kernel) compareRules(h *inventory, caused *caused, names namer) findings {
	type asked struct {
		rule kernelRule
		by   key
	}
	f := newFindings()
	var all []asked
	for _, at := range sorted(h.objects) {
		for _, r := range rulesOf(at.kind, h.objects[at].object) {
			all = append(all, asked{r, at})
			caused.rules[r] = 0
		}
	}
	for kind, list := range h.others {
		for _, o := range list {
			for _, r := range rulesOf(kind, o) {
				all = append(all, asked{rule: r})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b asked) int { return -cmp.Compare(min(a.rule.prio, 1), min(b.rule.prio, 1)) })
	left, taken := k.rulesInOrder(), map[kernelRule]bool{}
	by, tables := map[kernelRule]key{}, map[kernelRule]string{}
	for _, a := range all {
		i := slices.IndexFunc(left, func(r kernelRule) bool { return r.is(a.rule) })
		switch {
		case i >= 0:
			taken[left[i]], by[left[i]], tables[left[i]] = true, a.by, a.rule.table
			left = slices.Delete(left, i, i+1)
		case a.by != key{}:
			f.absent[a.by] = "the device has it, but the kernel does not have the rule: " + a.rule.String()
		}
	}
	for _, r := range left {
		once, unclear := caused.ruleOf(r)
		if r.prio == 0 || strings.Contains(r.mark, "/") || taken[r] {
			continue // what the API cannot remove, or a line that was read twice
		}
		f.unclear = orWord(f.unclear, unclear)
		if once != nil {
			tables[r] = once.table
			shown := k.rules[r].readings
			r.table = once.table
			f.surplus[r.String()] = leftover{r.object(names), shown}
		}
	}
	f.behind = k.behind(h, by, tables)
	return f
}

// rulesInOrder lists the rules as the kernel evaluates them: of several copies, the first one counts.
func (k *kernel) rulesInOrder() []kernelRule {
	var out []kernelRule
	for r, shown := range k.rules {
		for range shown.copies {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b kernelRule) int {
		return cmp.Or(cmp.Compare(a.prio, b.prio), strings.Compare(a.String(), b.String()))
	})
	return out
}

// compareRoutes is compareRules for routes.
func (k *kernel) compareRoutes(h *inventory, caused *caused, names namer) findings {
	type place struct{ table, dst string }
	f := newFindings()
	needed, found, filled := map[place]bool{}, map[place][]kernelRoute{}, map[string]bool{}
	all := slices.SortedFunc(maps.Keys(k.routes), func(a, b kernelRoute) int { return strings.Compare(a.String(), b.String()) })
	for _, r := range all {
		here := place{r.table, r.dst}
		found[here], filled[r.table] = append(found[here], r), true
	}
	for _, o := range h.others[openwrt.Routes] {
		r := k.routeOf(o)
		needed[place{r.table, r.dst}] = true
	}
	for _, at := range sorted(h.objects) {
		if at.kind != openwrt.Routes {
			continue
		}
		want := k.routeOf(h.objects[at].object)
		needed[place{want.table, want.dst}] = true
		if !k.tables[want.table] {
			continue // the device does not report its routes
		}
		if !filled[want.table] {
			f.empty[want.table] = true
		}
		found := found[place{want.table, want.dst}]
		if i := slices.IndexFunc(found, want.is); i >= 0 {
			caused.routes[found[i].with(want)] = 0
			continue
		}
		why := "the device has it, but the kernel does not: is the next hop reachable through the interface?"
		for _, r := range found {
			why = "the device has it, but the kernel has another route: " + r.String()
			if once := caused.routeOf(r); once != nil {
				f.surplus[once.String()] = leftover{once.object(names), k.routes[r]}
			}
		}
		f.absent[at] = why
	}
	for _, r := range all {
		if once := caused.routeOf(r); once != nil && !needed[place{r.table, r.dst}] {
			f.surplus[once.String()] = leftover{once.object(names), k.routes[r]}
		}
	}
	return f
}
