package lb

import (
	"slices"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// Topology is the switches and routers that load balancers can be put on. It is read-only.
type Topology struct {
	Version           uint64
	Switches, Routers []ovsdb.Datapath
	Links             []ovsdb.Link
	Linked            bool     // links were read
	Uplinks           []string // UUIDs of switches with a port to the outside, in order
}

// hosts are the switches and routers of a network, in order.
type hosts struct {
	switches, routers []ovsdb.Datapath
	// entries are the switches through which packets reach any of them.
	entries []ovsdb.Datapath
	// unguarded means that one of the routers has no switch: sources cannot be denied there.
	unguarded bool
}

// needsLinks reports whether the hosts of a network depend on links between switches and routers.
func (s *Settings) needsLinks(network string) bool {
	return network != "" && !s.Switches.names(network)
}

// hosts finds what belongs to a network: what is configured, or else the router of its name and the switches there.
func (s *Settings) hosts(network string, t *Topology) hosts {
	var h hosts
	eponymous, chosen := map[string]bool{}, map[string]bool{} // routers of the network's name, and those of h
	for i := range t.Routers {
		r := &t.Routers[i]
		eponymous[r.UUID] = network != "" && r.Name == network
		if s.Routers.selects(network, r) || eponymous[r.UUID] && !s.Routers.names(network) {
			h.routers = append(h.routers, *r)
			chosen[r.UUID] = true
		}
	}
	linked, entries, entered := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, l := range t.Links {
		linked[l.Switch] = linked[l.Switch] || eponymous[l.Router]
		if chosen[l.Router] {
			entries[l.Switch], entered[l.Router] = true, true
		}
	}
	for i := range t.Switches {
		d := &t.Switches[i]
		// A switch to the outside would load balance incoming flows before the router does, which may have to choose differently.
		_, uplink := slices.BinarySearch(t.Uplinks, d.UUID)
		selected := s.Switches.selects(network, d) && (!uplink || s.Switches.namesExactly(network, d)) ||
			linked[d.UUID] && !uplink && !s.Switches.names(network)
		if selected {
			h.switches = append(h.switches, *d)
		}
		if selected || entries[d.UUID] {
			h.entries = append(h.entries, *d)
		}
	}
	h.unguarded = len(entered) < len(h.routers)
	return h
}
