package memory

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// The value of an entry for a VIP that lists no backends: the flow is refused, or dropped.
const (
	vipRefused = "refuse"
	vipDropped = ""
)

// renderBalancer renders a load balancer as a row; nil has none. Its vips hold, by vipKey, what happens to a flow to a
// frontend; its denied are the sources that a frontend drops.
func renderBalancer(lb *intent.LoadBalancer, s *intent.Snapshot) []Row {
	if lb == nil {
		return nil
	}
	vips, denied := map[string]string{}, map[string]string{}
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		put := func(node *intent.Node, inside bool) {
			name := ""
			if node != nil {
				name = node.Name
			}
			vips[vipKey(f.String(), name, inside)] = choice(lb, f, f.Choose(node, inside))
		}
		for _, inside := range senders(f) {
			put(nil, inside)
			if !f.PerNode(inside) {
				continue
			}
			for _, name := range nodesOf(f, s) {
				node := s.Node(name)
				if node == nil {
					node = &intent.Node{Name: name}
				}
				put(node, inside)
			}
		}
		var sources []string
		for _, p := range f.Denied {
			sources = append(sources, p.String())
		}
		if len(sources) > 0 {
			denied[f.String()] = strings.Join(sources, " ")
		}
	}
	return []Row{{Kind: kindBalancer, Name: balancerName(lb.ID), Fields: backends.Fields{
		"network":     lb.Network,
		"vips":        vips,
		"denied":      denied,
		"affinity":    int(lb.Affinity),
		"healthcheck": int(lb.HealthCheckPort),
		"origin":      lb.Origin.String(),
	}}}
}

// senders lists the kinds of senders that have an entry of their own: inside, which means all if the frontend makes no
// difference, and outside.
func senders(f *intent.Frontend) []bool {
	if f.Locality == intent.NodeOfOutsideFlow {
		return []bool{true, false}
	}
	return []bool{true}
}

// nodesOf lists the nodes for which f may have a choice of its own.
func nodesOf(f *intent.Frontend, s *intent.Snapshot) []string {
	names := map[string]bool{}
	for n := range s.Nodes() {
		names[n.Name] = true
	}
	for b := range f.Backends.All() {
		names[b.Node] = true
		for _, n := range b.ForNodes {
			names[n] = true
		}
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// vipKey names an entry: the frontend, the node where a flow enters, "" for all that have no entry, and the sender.
func vipKey(frontend, node string, inside bool) string {
	if node != "" {
		frontend += " on " + node
	}
	if !inside {
		frontend += " from outside"
	}
	return frontend
}

// choice formats what happens to a flow with these backends to choose from.
func choice(lb *intent.LoadBalancer, f *intent.Frontend, among intent.Backends) string {
	switch {
	case f.Backends.Len() == 0 && lb.RejectEmpty:
		return vipRefused
	case among.Len() == 0:
		return vipDropped
	}
	list := make([]string, 0, among.Len())
	for b := range among.All() {
		list = append(list, b.AddrPort().String())
	}
	return strings.Join(list, " ")
}

// balance finds the entry for a flow; false if no frontend has its destination. Of several owners, the first by name
// decides.
func (t *Target) balance(f intent.Flow) (vip string, found bool) {
	at := intent.Frontend{Addr: f.Dst.Addr, Protocol: f.Protocol, Port: f.Port}
	front := at.String()
	outside := f.Src.Key == object.Key{}
	for _, owner := range slices.Sorted(maps.Keys(t.rows)) {
		for k, r := range t.rows[owner] {
			if k.kind != kindBalancer || r.text("network") != f.Network {
				continue
			}
			vips := r.entries("vips")
			if _, has := vips[front]; !has {
				continue
			}
			if barred(r.entries("denied")[front], f.Src.Addr) {
				return vipDropped, true
			}
			for _, key := range entriesFor(front, f.Node, outside) {
				if vip, found = vips[key]; found {
					return vip, true
				}
			}
		}
	}
	return "", false
}

// entriesFor lists the entries that may match a flow, the most specific first.
func entriesFor(front, node string, outside bool) []string {
	var keys []string
	if outside {
		keys = []string{vipKey(front, node, false), vipKey(front, "", false)}
	}
	return append(keys, vipKey(front, node, true), vipKey(front, "", true))
}

// barred reports whether one of the prefixes in list covers a.
func barred(list string, a netip.Addr) bool {
	for text := range strings.FieldsSeq(list) {
		if p, err := netip.ParsePrefix(text); err == nil && p.Contains(a) {
			return true
		}
	}
	return false
}
