package ovn

import (
	"context"
	"slices"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// topology is what load balancers can be put on. It is read-only.
type topology struct {
	version           uint64
	switches, routers []ovsdb.Datapath
	links             []ovsdb.Link
	linked            bool     // links were looked at
	uplinks           []string // UUIDs of switches with a port to the outside, in order
}

func uuidsOf(list []ovsdb.Datapath) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].UUID
	}
	return out
}

// look is what load balancers can be put on now. Links between switches and routers are expensive to find.
func (b *Backend) look(ctx context.Context, links bool) (*topology, error) {
	version := b.client.TopologyVersion()
	if t := b.seen; t != nil && t.version == version && (t.linked || !links) {
		return t, nil
	}
	t := &topology{version: version, switches: b.client.Switches(), routers: b.client.Routers(), linked: links}
	var err error
	if t.uplinks, err = b.client.Uplinks(ctx); err != nil {
		return nil, err
	}
	if links {
		if t.links, err = b.client.Links(ctx); err != nil {
			return nil, err
		}
	}
	b.seen = t
	return t, nil
}

// hosts are the switches and routers of a network, in order.
type hosts struct {
	switches, routers []ovsdb.Datapath
	// doors are the switches through which packets come to any of them.
	doors []ovsdb.Datapath
	// blind says that one of the routers has no switch, so that nobody knows where packets to it come from.
	blind bool
}

// hosts finds what belongs to a network: what is configured, or else the router of its name and the switches there.
func (b *balancing) hosts(network string, t *topology) hosts {
	var h hosts
	named := map[string]bool{} // routers of the network's name
	for i := range t.routers {
		r := &t.routers[i]
		named[r.UUID] = network != "" && r.Name == network
		if b.routers.selects(network, r) || named[r.UUID] && !b.routers.names(network) {
			h.routers = append(h.routers, *r)
		}
	}
	linked, doors := map[string]bool{}, map[string]bool{}
	seen := map[string]bool{}
	for _, l := range t.links {
		linked[l.Switch] = linked[l.Switch] || named[l.Router]
		if has(h.routers, l.Router) {
			doors[l.Switch], seen[l.Router] = true, true
		}
	}
	for i := range t.switches {
		s := &t.switches[i]
		// A switch to the outside would balance what comes in before the router does, which may have to choose otherwise.
		_, uplink := slices.BinarySearch(t.uplinks, s.UUID)
		selected := b.switches.selects(network, s) && (!uplink || b.switches.spells(network, s)) ||
			linked[s.UUID] && !uplink && !b.switches.names(network)
		if selected {
			h.switches = append(h.switches, *s)
		}
		if selected || doors[s.UUID] {
			h.doors = append(h.doors, *s)
		}
	}
	h.blind = len(seen) < len(h.routers)
	return h
}

func has(list []ovsdb.Datapath, uuid string) bool {
	return slices.ContainsFunc(list, func(d ovsdb.Datapath) bool { return d.UUID == uuid })
}
