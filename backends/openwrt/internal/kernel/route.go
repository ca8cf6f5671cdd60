package kernel

import (
	"cmp"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Route is a route. An interface that is not known is "".
type Route struct{ Table, dst, via, dev string }

// String formats the route as for the command that makes it.
func (r Route) String() string {
	text := r.dst
	if r.via != "" {
		text += " via " + r.via
	}
	if r.dev != "" {
		text += " dev " + r.dev
	}
	return text + " in table " + r.Table
}

// is reports whether the kernel has r as o.
func (r Route) is(o Route) bool {
	return r.Table == o.Table && r.dst == o.dst && r.via == o.via && (r.dev == o.dev || r.dev == "" || o.dev == "")
}

// with returns the route with the interface of another that it is.
func (r Route) with(o Route) Route {
	r.dev = cmp.Or(r.dev, o.dev)
	return r
}

// object returns the object with which the device removes exactly this route.
func (r Route) object(names section.Namer) openwrt.Object {
	table := "default"
	if r.Table == cnfTable {
		table = "cnf"
	}
	return openwrt.ObjectOf(openwrt.Route{
		Name: names.Object(openwrt.Routes, "surplus "+r.String(), ""), Dst: r.dst, GW: r.via, Dev: r.dev, Table: table,
	})
}
