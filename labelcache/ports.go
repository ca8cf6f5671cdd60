package labelcache

import "slices"

// PortMatch selects endpoints by a port that they declare. The zero value selects all of them.
type PortMatch struct {
	Name     string // "" selects all, whatever the other fields say
	Protocol Protocol
	Number   uint16 // what the name has to stand for; 0 leaves it open
}

// canonical returns p without fields that mean nothing.
func (p PortMatch) canonical() PortMatch {
	if p.Name == "" {
		return PortMatch{}
	}
	return p
}

// open reports whether p leaves the number to the endpoint.
func (p PortMatch) open() bool { return p.Name != "" && p.Number == 0 }

// matches reports whether e declares the port.
func (p PortMatch) matches(e *Endpoint) bool {
	if p.Name == "" {
		return true
	}
	n, ok := e.Number(p.Name, p.Protocol)
	return ok && (p.Number == 0 || p.Number == n)
}

// numbers counts how many endpoints resolve a term's open port to which number.
type numbers map[uint16]int

// add counts one endpoint more, or less with by -1. It reports whether the distinct numbers changed.
func (n numbers) add(number uint16, by int) bool {
	was := n[number]
	if was+by == 0 {
		delete(n, number)
		return true
	}
	n[number] = was + by
	return was == 0
}

// distinct lists the numbers of all counts once, in ascending order. It is nil when there are none.
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
