package openwrt

import (
	"net/netip"
	"slices"
	"strings"
)

// ipRoute is a route in one table.
type ipRoute struct {
	table, dst, via, dev, src string // table is "" for main
	own                       bool   // the kernel's, from an address of the interface
}

// String is the route as on the command line, without the command.
func (r ipRoute) String() string {
	var b strings.Builder
	for _, part := range [][2]string{{"table", r.table}, {"", r.dst}, {"via", r.via}, {"dev", r.dev}, {"src", r.src}} {
		if part[1] != "" {
			b.WriteString(strings.TrimSpace(part[0]+" "+part[1]) + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// addRoute adds a route, unless its table has one to the same destination, or the kernel finds it impossible: a destination
// with more than its prefix, a gateway that is not next to the interface, a source that is not the device's. The scripts
// ignore the command's exit code.
func (d *Device) addRoute(r ipRoute) {
	dst, ok := r.destination()
	taken := slices.ContainsFunc(d.routes(r.table), func(old ipRoute) bool {
		other, _ := old.destination()
		return other == dst
	})
	if !ok || dst != dst.Masked() || taken || r.via != "" && !d.nextTo(r.dev, r.via) || r.src != "" && d.ifaceOf(r.src) == "" {
		return
	}
	d.kernel.routes = append(d.kernel.routes, r)
}

// routes lists the routes of a table, "" for main. The table main begins with those of the pod.
func (d *Device) routes(table string) []ipRoute {
	var list []ipRoute
	if table == "" {
		for _, i := range d.opts.Interfaces {
			if i.Default {
				list = append(list, ipRoute{dst: "default", dev: i.Name})
			}
			list = append(list, ipRoute{dst: i.Address.Masked().String(), dev: i.Name, src: i.Address.Addr().String(), own: true})
		}
	}
	for _, r := range d.kernel.routes {
		if r.table == table {
			list = append(list, r)
		}
	}
	return list
}

// destination is the parsed destination.
func (r ipRoute) destination() (netip.Prefix, bool) {
	if r.dst == "default" {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
	}
	return parseNetwork(r.dst)
}

// nextTo reports whether an address is reachable by an interface without a gateway.
func (d *Device) nextTo(dev, address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(d.routes(""), func(r ipRoute) bool {
		return r.dev == dev && r.via == "" && (r.own || r.dst != "default") && prefixCovers(r.dst, a)
	})
}

// deleteRoute removes the first route that has everything that r names.
func (k *kernel) deleteRoute(r ipRoute) {
	dst, _ := r.destination()
	i := slices.IndexFunc(k.routes, func(old ipRoute) bool {
		other, _ := old.destination()
		return old.table == r.table && other == dst && old.dev == r.dev && (r.via == "" || r.via == old.via) && (r.src == "" || r.src == old.src)
	})
	if i >= 0 {
		k.routes = slices.Delete(k.routes, i, i+1)
	}
}
