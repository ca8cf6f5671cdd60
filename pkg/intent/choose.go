package intent

import "slices"

// Choose lists the backends that a flow to f may be sent on to: one that enters at a node (nil if it is not known
// where) and whose source is inside, an endpoint of the network, or outside. Unless that depends on the node, the cost does not depend on
// how many there are.
//
// The order in which kinds of backends are preferred is that of kube-proxy: hints count only if every backend that is
// ready has one and one of them is for the flow's node or zone, and draining backends only if none is ready.
func (f *Frontend) Choose(at *Node, inside bool) Backends {
	local := func(node string) Backends {
		if node == "" {
			return Backends{}
		}
		return f.Backends.best(func(b *Backend) bool { return b.Node == node })
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
	return f.Backends.best(f.hinted(at))
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

// hinted returns a filter for the backends that the hints leave for a flow that enters at a node; nil leaves all.
func (f *Frontend) hinted(at *Node) func(*Backend) bool {
	if at == nil {
		return nil
	}
	nodes, zones := f.hints()
	forNode := func(b *Backend) bool { return slices.Contains(b.ForNodes, at.Name) }
	forZone := func(b *Backend) bool { return slices.Contains(b.ForZones, at.Zone) }
	ready := func(wanted func(*Backend) bool) bool {
		for b := range f.Backends.ready.all {
			if wanted(b) {
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
		return nil
	}
}

// hints reports whether at least one backend is ready and all ready ones have hints for nodes, and the same for zones.
func (f *Frontend) hints() (nodes, zones bool) {
	ready := f.Backends.ready.size()
	return ready > 0 && f.Backends.forNodes == ready, ready > 0 && f.Backends.forZones == ready
}
