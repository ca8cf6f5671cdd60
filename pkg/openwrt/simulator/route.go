package simulator

import (
	"slices"
	"strings"
)

// cnfTable is the number of the table that the device calls cnf, and that applications use.
const cnfTable = "40"

// routeCollections are the modules route, rule and application: kernel routes and rules, applied at once.
func routeCollections() []*collection { return []*collection{routes(), routeRules(), applications()} }

func routes() *collection {
	const script = "route_rest"
	return &collection{
		module: "route", plural: "routes", singular: "route", pkg: "route-cnf", typ: "route", script: script,
		fields: []field{
			{name: "name"},
			{name: "dst", check: exactly(textual(isPrefix), "default"), message: "Invalid Destination IP Address"},
			{name: "src", check: textual(isAddress), message: "Invalid Source IP Address"},
			{name: "gw", check: textual(isAddress), message: "Invalid Gateway IP Address"},
			{name: "dev"},
			{name: "dev_val"},
			{name: "table", check: oneOf("default", "cnf"), message: "Bad route table"},
		},
		whole: func(d *Device, o object) *refusal {
			if !o.has("dev") {
				return fault(script, "bad argument #1 to 'find' (string expected, got nil)")
			}
			dev := d.place(o.text("dev"), "")
			if d.iface(dev) == nil {
				return refuse(428, "Field[dev] checked failed: Invalid interface")
			}
			o["dev_val"] = dev
			return nil
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				if !o.has("dst") {
					return fault(script, "attempt to concatenate local 'dst' (a nil value)")
				}
				d.kernel.addRoute(ipRouteOf(o))
				return nil
			})
		},
		gone: func(d *Device, _ *tx, o object) { d.kernel.deleteRoute(ipRouteOf(o)) },
	}
}

func ipRouteOf(o object) ipRoute {
	r := ipRoute{dst: o.text("dst"), via: o.text("gw"), dev: o.text("dev_val"), src: o.text("src")}
	if o.text("table") == "cnf" {
		r.table = cnfTable
	}
	return r
}

func routeRules() *collection {
	named := oneOf("main", "local", "default")
	table := func(d *Device, v any) (bool, string, bool) {
		if ok, _, _ := named(d, v); ok {
			return true, "", false
		}
		return above(0)(d, v)
	}
	return &collection{
		module: "rule", plural: "rules", singular: "rule", pkg: "rule-cnf", typ: "rule", script: "rule_rest",
		fields: []field{
			{name: "name"},
			{name: "src", check: textual(isPrefix), message: "Invalid Source IP Address"},
			{name: "dst", check: textual(isPrefix), message: "Invalid Destination IP Address"},
			{name: "prio", check: above(0), message: "Invalid prio"},
			{name: "table", check: table, message: "Bad route table"},
			{name: "fwmark", check: textual(isMark), message: "Invalid fwmark"},
			{name: "flag"},
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				d.kernel.addRule(ipRuleOf(o))
				return nil
			})
		},
		load: func(_ *Device, c *collection, s *section) object {
			o := read(s, c.fields)
			o["flag"] = isTrue(s.text("flag")) // the only value that is not text
			return o
		},
		gone: func(d *Device, _ *tx, o object) { d.kernel.deleteIPRule(ipRuleOf(o)) },
	}
}

func ipRuleOf(o object) ipRule {
	not, _ := o["flag"].(bool)
	r := ipRule{
		not: not || isTrue(o.text("flag")), prio: o.text("prio"), src: o.text("src"), dst: o.text("dst"),
		table: o.text("table"), mark: o.text("fwmark"),
	}
	if r.table == "" {
		r.table = "main"
	}
	return r
}

func isTrue(s string) bool { return s == "1" || s == "true" }

func applications() *collection {
	addresses := func(s string) bool {
		list := words(s)
		return !slices.ContainsFunc(list, func(one string) bool { return !isAddress(one) })
	}
	return &collection{
		module: "application", plural: "applications", singular: "application", pkg: "app-cnf", typ: "rule", named: true,
		script: "app_rest",
		fields: []field{
			{name: "name"},
			{name: "iplist", option: "src", check: textual(addresses), message: "Invalid IP Address"},
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				for _, ip := range words(o.text("iplist")) {
					d.kernel.addRule(ipRule{src: ip, table: cnfTable})
				}
				return nil
			})
		},
		gone: func(d *Device, _ *tx, o object) {
			for _, ip := range words(o.text("iplist")) {
				d.kernel.deleteIPRule(ipRule{src: ip, table: cnfTable})
			}
		},
	}
}

// words are the trimmed parts between commas.
func words(s string) []string {
	var out []string
	for _, w := range parts(s, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
