package nbtrace

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// balancing is the load balancers of a state.
type balancing struct {
	onSwitch map[string]datapath
	onRouter map[string]datapath
	vars     map[string]map[string]string // by chassis
}

// balance reads the load balancers of rows and attaches them to switches and routers.
func (t *Tracer) balance(rows Rows) []error {
	t.onSwitch, t.onRouter, t.vars = map[string]datapath{}, map[string]datapath{}, map[string]map[string]string{}
	for _, v := range rows.TemplateVars {
		t.vars[v.Chassis] = v.Variables
	}
	var faults []error
	entries := map[string][]*vip{}
	for i := range rows.LoadBalancers {
		_, vips, errs := newBalancer(rows.LoadBalancers[i])
		entries[rows.LoadBalancers[i].UUID] = vips
		faults = append(faults, errs...)
	}
	index := func(uuids []string) *vipIndex {
		var all []*vip
		for _, uuid := range uuids {
			all = append(all, entries[uuid]...)
		}
		return newVIPIndex(all)
	}
	groups := map[string]*vipIndex{}
	for _, g := range rows.LoadBalancerGroups {
		groups[g.UUID] = index(g.LoadBalancers)
	}
	attached := func(own, in []string) datapath {
		var d datapath
		if len(own) > 0 {
			d = append(d, index(own))
		}
		for _, uuid := range in {
			if g := groups[uuid]; g != nil && !slices.Contains(d, g) {
				d = append(d, g)
			}
		}
		return d
	}
	for _, sw := range rows.Switches {
		d := attached(sw.LoadBalancers, sw.LoadBalancerGroups)
		t.onSwitch[sw.Name] = d
		// A switch with load balancers tracks connections.
		t.stateful[sw.Name] = t.stateful[sw.Name] || !d.empty()
	}
	for _, r := range rows.Routers {
		t.onRouter[r.Name] = attached(r.LoadBalancers, r.LoadBalancerGroups)
	}
	return append(faults, t.contested()...)
}

// empty reports whether d has no VIP.
func (d datapath) empty() bool {
	return !slices.ContainsFunc(d, func(x *vipIndex) bool { return len(x.literal)+len(x.variables) > 0 })
}

// contested lists the VIPs that two load balancers of one switch or router have. OVN chooses one of them silently. Keys
// with variables are not compared here: see Balanced.Ambiguous.
func (t *Tracer) contested() []error {
	found := map[vipKey]error{}
	looked := map[string]bool{} // many switches have the same groups
	for _, of := range []map[string]datapath{t.onSwitch, t.onRouter} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if id := fmt.Sprint(of[name]); !looked[id] {
				looked[id] = true
				of[name].contested(found, name)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b vipKey) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.port, b.port), cmp.Compare(a.protocol, b.protocol))
	})
	var faults []error
	for _, k := range keys {
		faults = append(faults, found[k])
	}
	return faults
}

// contested adds the VIPs of d, which is on the switch or router of that name.
func (d datapath) contested(found map[vipKey]error, name string) {
	first := map[vipKey]*vip{}
	for _, x := range d {
		for k, vips := range x.literal {
			for _, v := range vips {
				other := first[k]
				if other == nil || other == v {
					first[k] = v
					continue
				}
				a, b := other.of.row, v.of.row
				if a.UUID > b.UUID {
					a, b = b, a
				}
				found[k] = &BalancerError{a.UUID, v.key, fmt.Errorf("load balancer %s has it too, on %s", b.UUID, name)}
			}
		}
	}
}

// balanced applies the load balancers of d to p; nil if none has its destination.
func (t *Tracer) balanced(d datapath, p *Packet) (*Balanced, *vip) {
	vars := t.vars[p.Chassis]
	found := d.find(p, vars)
	if len(found) == 0 {
		return nil, nil
	}
	v := found[0]
	b := &Balanced{LoadBalancer: &v.of.row, VIP: v.key, Ambiguous: len(found) > 1, Outcome: Unserved}
	_, backends, err := v.on(vars)
	switch {
	case err != nil:
		b.Fault = err
	case len(backends) > 0:
		for _, at := range backends {
			if at.Port() == 0 {
				at = netip.AddrPortFrom(at.Addr(), p.DstPort)
			}
			if !undeliverable(at.Addr()) {
				b.Outcome, b.Backends = SentOn, append(b.Backends, Backend{Addr: at})
			}
		}
	case v.of.row.Options["reject"] == "true":
		b.Outcome = Refused
	}
	return b, v
}

// undeliverable reports whether packets to a are never delivered.
func undeliverable(a netip.Addr) bool {
	return a.Is4() && a.IsLoopback() || a.Is6() && a.IsLinkLocalUnicast()
}

// portsByAddr maps each address to its port. If several ports have an address, the last one by name is taken.
func portsByAddr(ports []Port) map[netip.Addr]string {
	sorted := slices.SortedFunc(slices.Values(ports), func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	m := map[netip.Addr]string{}
	for _, port := range sorted {
		for _, a := range port.IPs() {
			m[a] = port.Name
		}
	}
	return m
}
