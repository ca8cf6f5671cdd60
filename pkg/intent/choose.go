package intent

import "slices"

// Choose lists the backends that a flow to f may be sent on to: one that enters at a node (nil if it is not known
// where) and whose source is inside, an endpoint of the network, or outside. The result is part of f.Backends in their
// order and must not be changed.
//
// The order in which kinds of backends are preferred is that of kube-proxy: hints count only if every backend that is
// ready has one and one of them is for the flow's node or zone, and draining backends only if none is ready.
func (f *Frontend) Choose(at *Node, inside bool) []Backend {
	local := func(node string) []Backend {
		if node == "" {
			return nil
		}
		return best(f.Backends, func(b *Backend) bool { return b.Node == node })
	}
	switch f.Locality {
	case NodeOfFrontend:
		return local(f.Node)
	case NodeOfFlow:
		return local(nameOf(at))
	case NodeOfOutsideFlow:
		if !inside {
			return local(nameOf(at))
		}
	case Anywhere:
	}
	return best(f.Backends, f.hinted(at))
}

// PerNode reports whether the result of Choose for a sender of that kind depends on the node.
func (f *Frontend) PerNode(inside bool) bool {
	switch f.Locality {
	case NodeOfFlow:
		return true
	case NodeOfOutsideFlow:
		if !inside {
			return true
		}
	case NodeOfFrontend:
		return false
	case Anywhere:
	}
	nodes, zones := f.hints()
	return nodes || zones
}

func nameOf(n *Node) string {
	if n == nil {
		return ""
	}
	return n.Name
}

// best returns the wanted backends that are ready, or the draining ones if none is ready.
func best(all []Backend, wanted func(*Backend) bool) []Backend {
	var ready, draining []Backend
	for i := range all {
		b := &all[i]
		switch {
		case !wanted(b):
		case b.Draining:
			draining = append(draining, *b)
		default:
			ready = append(ready, *b)
		}
	}
	switch {
	case len(ready) == len(all):
		return all
	case len(ready) > 0:
		return ready
	default:
		return draining
	}
}

// hinted returns a filter for the backends that the hints leave for a flow that enters at a node.
func (f *Frontend) hinted(at *Node) func(*Backend) bool {
	everybody := func(*Backend) bool { return true }
	if at == nil {
		return everybody
	}
	nodes, zones := f.hints()
	forNode := func(b *Backend) bool { return slices.Contains(b.ForNodes, at.Name) }
	forZone := func(b *Backend) bool { return slices.Contains(b.ForZones, at.Zone) }
	ready := func(wanted func(*Backend) bool) bool {
		for i := range f.Backends {
			if b := &f.Backends[i]; !b.Draining && wanted(b) {
				return true
			}
		}
		return false
	}
	switch {
	case nodes && ready(forNode):
		return forNode
	case zones && at.Zone != "" && ready(forZone):
		return forZone
	default:
		return everybody
	}
}

// hints reports whether at least one backend is ready and all ready ones have hints for nodes, and the same for zones.
func (f *Frontend) hints() (nodes, zones bool) {
	found := false
	nodes, zones = true, true
	for i := range f.Backends {
		b := &f.Backends[i]
		if b.Draining {
			continue
		}
		found = true
		nodes = nodes && len(b.ForNodes) > 0
		zones = zones && len(b.ForZones) > 0
	}
	return nodes && found, zones && found
}
