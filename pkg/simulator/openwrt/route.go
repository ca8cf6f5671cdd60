package openwrt

import (
	"slices"
	"strconv"
	"strings"
)

// cnfTable is the number of the table that the device calls cnf, and that applications use.
const cnfTable = "40"

// routeCollections are the modules route, rule and application: kernel routes and rules, applied at once.
func routeCollections() []*collection { return []*collection{routes(), routeRules(), applications()} }

func routes() *collection {
	const script = "route_rest"
	return &collection{
		module: "route", plural: "routes", singular: "route", pkg: "route-cnf", typ: "route", creates: true, script: script,
		fields: []field{
			{name: "name"},
			{name: "dst", check: exactly(prefix, "default"), message: "Invalid Destination IP Address"},
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
			if !d.hasLink(dev) {
				return refuse(428, "Field[dev] checked failed: Invalid interface")
			}
			o["dev_val"] = dev
			return nil
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				r, no := ipRouteOf(script, o)
				if no == nil {
					d.addRoute(r)
				}
				return no
			})
		},
		gone: func(d *Device, _ *tx, o object) *refusal {
			r, no := ipRouteOf(script, o)
			d.kernel.deleteRoute(r)
			return no
		},
	}
}

// ipRouteOf is the route for an object. The script aborts on an object that lacks what every command needs.
func ipRouteOf(script string, o object) (ipRoute, *refusal) {
	for _, name := range []string{"dst", "dev_val"} {
		if !o.has(name) {
			return ipRoute{}, fault(script, "attempt to concatenate local '"+name+"' (a nil value)")
		}
	}
	r := ipRoute{dst: o.text("dst"), via: o.text("gw"), dev: o.text("dev_val"), src: o.text("src")}
	if o.text("table") == "cnf" {
		r.table = cnfTable
	}
	return r, nil
}

func routeRules() *collection {
	table := exactly(above(0), "main", "local", "default")
	return &collection{
		module: "rule", plural: "rules", singular: "rule", pkg: "rule-cnf", typ: "rule", creates: true, script: "rule_rest",
		fields: []field{
			{name: "name"},
			{name: "src", check: prefix, message: "Invalid Source IP Address"},
			{name: "dst", check: prefix, message: "Invalid Destination IP Address"},
			{name: "prio", check: above(0), message: "Invalid Prioroty"},
			{name: "table", check: table, message: "Invalid Table"},
			{name: "fwmark", check: mark, message: "Invalid fwmark"},
			{name: "flag", save: func(v any) string { return strconv.FormatBool(v == true) }},
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				d.kernel.addRule(ipRuleOf(o))
				return nil
			})
		},
		load: func(_ *Device, c *collection, s *section) (object, *refusal) {
			o := read(s, c.fields)
			o["flag"] = s.text("flag") == "true" // the only value that is not text
			return o, nil
		},
		gone: func(d *Device, _ *tx, o object) *refusal {
			d.kernel.deleteIPRule(ipRuleOf(o))
			return nil
		},
	}
}

// ipRuleOf is the rule for an object. A flag that was sent as the text true is stored as false, and the command that makes the
// rule takes it as true.
func ipRuleOf(o object) ipRule {
	r := ipRule{
		not: o["flag"] == true || o.text("flag") == "true", prio: o.text("prio"), src: o.text("src"), dst: o.text("dst"),
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
		module: "application", plural: "applications", singular: "application", pkg: "app-cnf", typ: "rule", creates: true, named: true,
		script: "app_rest",
		fields: []field{
			{name: "name"},
			{name: "iplist", option: "src", check: textual(addresses), message: "Invalid Source IP Address"},
		},
		create: func(d *Device, c *collection, o object) *refusal {
			return c.section(d, o, func(o object) *refusal {
				for _, ip := range words(o.text("iplist")) {
					d.kernel.addRule(ipRule{src: ip, table: cnfTable})
				}
				return nil
			})
		},
		gone: func(d *Device, _ *tx, o object) *refusal {
			for _, ip := range words(o.text("iplist")) {
				d.kernel.deleteIPRule(ipRule{src: ip, table: cnfTable})
			}
			return nil
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
