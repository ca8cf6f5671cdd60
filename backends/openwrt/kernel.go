package openwrt

import (
	"cmp"
	"encoding/json"
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

// kernelRule is a routing rule. A priority of 0 is any: the kernel then chooses one.
type kernelRule struct {
	prio                  uint64
	not                   bool
	src, dst, mark, table string
}

// selector returns the rule without its priority.
func (r kernelRule) selector() kernelRule {
	r.prio = 0
	return r
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

// kernel is what the kernel has, as far as the device reports it.
type kernel struct {
	rules  []kernelRule // nil if they are not known
	routes []kernelRoute
	tables map[string]bool // whose routes are known: the device reports only those that a rule refers to
	dev    string          // of the default route
}

// readRules reads the status of the rules. It returns nil if that does not say enough.
func readRules(status json.RawMessage) []kernelRule {
	var list []struct {
		Src, Dst, Prio, FWMark, Table, Not string
	}
	if json.Unmarshal(status, &list) != nil {
		return nil
	}
	out := make([]kernelRule, 0, len(list))
	for _, r := range list {
		prio, err := strconv.ParseUint(strings.TrimSpace(r.Prio), 10, 64)
		if err != nil || r.Table == "" {
			return nil
		}
		out = append(out, kernelRule{prio, r.Not == "true", prefixName(r.Src), prefixName(r.Dst), markName(r.FWMark), tableName(r.Table)})
	}
	return out
}

// readRoutes adds the status of the routes.
func (k *kernel) readRoutes(status json.RawMessage) {
	var tables map[string]struct {
		Item []struct{ Destination, Gateway, Device string }
	}
	if json.Unmarshal(status, &tables) != nil {
		return
	}
	k.tables = map[string]bool{}
	for name, t := range tables {
		table := tableName(name)
		k.tables[table] = true
		for _, r := range t.Item {
			k.routes = append(k.routes, kernelRoute{table, routeName(r.Destination), r.Gateway, r.Device})
			if table == mainTable && r.Destination == "default" && k.dev == "" {
				k.dev = r.Device
			}
		}
	}
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

// findings are the differences between the kernel and the objects of a device.
type findings struct {
	absent  map[key]string   // objects that the kernel lacks, and why that may be
	surplus []openwrt.Object // with which the device removes what the kernel should not have
	places  map[string]bool  // of surplus, for people
}

// compare finds what the kernel lacks of have, and what it has in excess of what is or once was ours: caused lists the latter, and settled
// entries are removed from it. Others are the objects that are not ours.
func (k *kernel) compare(have map[key]*deviceObject, others map[openwrt.Kind][]openwrt.Object, caused *caused, names namer) findings {
	f := findings{absent: map[key]string{}, places: map[string]bool{}}
	if k.rules != nil {
		k.compareRules(&f, have, others, caused, names)
	}
	if k.tables != nil {
		k.compareRoutes(&f, have, others, caused, names)
	}
	return f
}

func (f *findings) remove(what fmt.Stringer, o openwrt.Object) {
	if !f.places[what.String()] {
		f.places[what.String()] = true
		f.surplus = append(f.surplus, o)
	}
}

func (k *kernel) compareRules(f *findings, have map[key]*deviceObject, others map[openwrt.Kind][]openwrt.Object, caused *caused, names namer) {
	type asked struct {
		rule kernelRule
		by   key
	}
	var all []asked
	for _, at := range sorted(have) {
		for _, r := range rulesOf(at.kind, have[at].object) {
			all = append(all, asked{r, at})
			caused.rules[r] = true
		}
	}
	for kind, list := range others {
		for _, o := range list {
			for _, r := range rulesOf(kind, o) {
				all = append(all, asked{rule: r})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b asked) int { return -cmp.Compare(min(a.rule.prio, 1), min(b.rule.prio, 1)) })
	left := slices.Clone(k.rules)
	slices.SortStableFunc(left, func(a, b kernelRule) int { return -cmp.Compare(a.prio, b.prio) }) // the first of several copies
	needed := map[kernelRule]bool{}
	for _, a := range all {
		needed[a.rule] = true
		i := slices.IndexFunc(left, func(r kernelRule) bool { return r == a.rule || a.rule.prio == 0 && r.selector() == a.rule })
		switch {
		case i >= 0:
			left = slices.Delete(left, i, i+1)
		case a.by != key{}:
			f.absent[a.by] = "the device has it, but the kernel does not have the rule: " + a.rule.String()
		}
	}
	stays := map[kernelRule]bool{}
	for _, r := range left {
		for _, once := range []kernelRule{r, r.selector()} {
			if caused.rules[once] && r.prio > 0 && !strings.Contains(r.mark, "/") {
				stays[once] = true
				f.remove(r, r.object(names))
				break
			}
		}
	}
	maps.DeleteFunc(caused.rules, func(r kernelRule, _ bool) bool { return !needed[r] && !stays[r] })
}

func (k *kernel) compareRoutes(f *findings, have map[key]*deviceObject, others map[openwrt.Kind][]openwrt.Object, caused *caused, names namer) {
	type place struct{ table, dst string }
	needed := map[place]bool{}
	exact := map[kernelRoute]bool{}
	for _, o := range others[openwrt.Routes] {
		r := k.routeOf(o)
		needed[place{r.table, r.dst}], exact[r] = true, true
	}
	for _, at := range sorted(have) {
		if at.kind != openwrt.Routes {
			continue
		}
		want := k.routeOf(have[at].object)
		here := place{want.table, want.dst}
		needed[here], exact[want] = true, true
		if !k.tables[want.table] {
			continue // the device does not report its routes
		}
		var found []kernelRoute
		for _, r := range k.routes {
			if r.table == want.table && r.dst == want.dst {
				found = append(found, r)
			}
		}
		if i := slices.IndexFunc(found, want.is); i >= 0 {
			caused.routes[found[i]] = true
			continue
		}
		why := "the device has it, but the kernel does not: is the next hop reachable through the interface?"
		for _, r := range found {
			why = "the device has it, but the kernel has another route: " + r.String()
			if caused.routes[r] {
				f.remove(r, r.object(names))
			}
		}
		f.absent[at] = why
	}
	there := map[kernelRoute]bool{}
	for _, r := range k.routes {
		there[r] = true
		if caused.routes[r] && !needed[place{r.table, r.dst}] {
			f.remove(r, r.object(names))
		}
	}
	maps.DeleteFunc(caused.routes, func(r kernelRoute, _ bool) bool { return k.tables[r.table] && !there[r] })
}
