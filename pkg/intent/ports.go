package intent

import (
	"cmp"
	"fmt"
	"slices"
)

// Protocol is an IANA protocol number. Zero means no protocol and matches only rules without ports.
type Protocol uint8

// The protocols that have ports in a NetworkPolicy, and ICMP, which probes use.
const (
	ICMP   Protocol = 1
	TCP    Protocol = 6
	UDP    Protocol = 17
	ICMPv6 Protocol = 58
	SCTP   Protocol = 132
)

// String returns the protocol's lower-case name.
func (p Protocol) String() string {
	switch p {
	case ICMP:
		return "icmp"
	case TCP:
		return "tcp"
	case UDP:
		return "udp"
	case ICMPv6:
		return "icmp6"
	case SCTP:
		return "sctp"
	default:
		return fmt.Sprintf("protocol(%d)", uint8(p))
	}
}

// PortRange is a range of destination ports of one protocol, both ends included, 0 to 65535.
type PortRange struct {
	Protocol    Protocol
	First, Last uint16
}

// Has reports whether r covers the port.
func (r PortRange) Has(proto Protocol, port uint16) bool {
	return r.Protocol == proto && r.First <= port && port <= r.Last
}

// Ports is the protocols and destination ports that a rule matches. The zero value matches nothing.
type Ports struct {
	Any    bool        // every protocol and port, including ICMP; Ranges is then empty
	Ranges []PortRange // canonical: see MergePorts
}

// Has reports whether p covers traffic of that protocol to that port.
func (p Ports) Has(proto Protocol, port uint16) bool {
	if p.Any {
		return true
	}
	return slices.ContainsFunc(p.Ranges, func(r PortRange) bool { return r.Has(proto, port) })
}

// MergePorts sorts ranges by protocol and first port and joins those that overlap or touch. It returns a new slice.
func MergePorts(ranges []PortRange) []PortRange {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b PortRange) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	merged := sorted[:0]
	for _, r := range sorted {
		if n := len(merged); n > 0 {
			last := &merged[n-1]
			if last.Protocol == r.Protocol && int(r.First) <= int(last.Last)+1 {
				last.Last = max(last.Last, r.Last)
				continue
			}
		}
		merged = append(merged, r)
	}
	return merged
}

// String renders r as tcp/80 or tcp/8000-8100, and as tcp if it covers every port.
func (r PortRange) String() string {
	switch {
	case r.First == r.Last:
		return fmt.Sprintf("%s/%d", r.Protocol, r.First)
	case r.First == 0 && r.Last == 65535:
		return r.Protocol.String()
	default:
		return fmt.Sprintf("%s/%d-%d", r.Protocol, r.First, r.Last)
	}
}

// Strings formats each range of p, or "any".
func (p Ports) Strings() []string {
	if p.Any {
		return []string{"any"}
	}
	out := make([]string, len(p.Ranges))
	for i, r := range p.Ranges {
		out[i] = r.String()
	}
	return out
}
