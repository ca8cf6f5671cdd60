package labelcache

import "slices"

// PortMatch selects endpoints by a port that they declare. The zero value selects all of them.
type PortMatch struct {
	Name     string // "" selects all, whatever the other fields are
	Protocol Protocol
	Number   uint16 // the number of the named port; 0 means any
}

// canonical returns p without fields that mean nothing.
func (p PortMatch) canonical() PortMatch {
	if p.Name == "" {
		return PortMatch{}
	}
	return p
}

// open reports whether the endpoint determines the number.
func (p PortMatch) open() bool { return p.Name != "" && p.Number == 0 }

// matches reports whether e declares the port.
func (p PortMatch) matches(e *Endpoint) bool {
	if p.Name == "" {
		return true
	}
	n, ok := e.Number(p.Name, p.Protocol)
	return ok && (p.Number == 0 || p.Number == n)
}

// numbers counts, by number, the endpoints that resolve a term's open port to it.
type numbers map[uint16]int

// add counts one endpoint more, or one less if by is -1. It reports whether the distinct numbers changed.
func (n numbers) add(number uint16, by int) bool {
	was := n[number]
	if was+by == 0 {
		delete(n, number)
		return true
	}
	n[number] = was + by
	return was == 0
}

// distinct lists the numbers of all counts once, in ascending order. It returns nil if there are none.
func distinct(counts []numbers) []uint16 {
	var out []uint16
	for _, c := range counts {
		for n := range c {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
