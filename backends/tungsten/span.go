package tungsten

// ends are UUIDs of interfaces; nil stands for everything, inside and outside.
type ends map[string]bool

func (e ends) meet(o ends) bool {
	if e == nil || o == nil {
		return true
	}
	if len(o) < len(e) {
		e, o = o, e
	}
	for id := range e {
		if o[id] {
			return true
		}
	}
	return false
}

// span contains the connections that a write may open or close: a connection has to pass in both directions, so it does not matter in
// which one. The zero value is all connections.
type span struct{ src, dst ends }

// meet reports whether some connection is in a span of each list.
func meet(a, b []span) bool {
	for _, x := range a {
		for _, y := range b {
			if x.src.meet(y.src) && x.dst.meet(y.dst) {
				return true
			}
		}
	}
	return false
}
