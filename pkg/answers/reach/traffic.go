package reach

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

const lastPort = 65535

// withPorts are the protocols that have ports, in order.
func withPorts() []intent.Protocol { return []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} }

// Traffic is a set of protocols and destination ports. The zero value is none.
type Traffic struct {
	Ranges []intent.PortRange // of TCP, UDP and SCTP, canonical: see intent.MergePorts
	Other  bool               // every other protocol, ICMP among them
}

// All is everything.
func All() Traffic {
	t := Traffic{Other: true}
	for _, p := range withPorts() {
		t.Ranges = append(t.Ranges, intent.PortRange{Protocol: p, First: 0, Last: lastPort})
	}
	return t
}

// TrafficOf returns what the ports of a rule cover.
func TrafficOf(p intent.Ports) Traffic {
	if p.Any {
		return All()
	}
	ranges := slices.DeleteFunc(slices.Clone(p.Ranges), func(r intent.PortRange) bool {
		return !slices.Contains(withPorts(), r.Protocol)
	})
	return Traffic{Ranges: intent.MergePorts(ranges)}
}

// Empty reports whether t is none.
func (t Traffic) Empty() bool { return len(t.Ranges) == 0 && !t.Other }

// Equal reports whether t and o are the same.
func (t Traffic) Equal(o Traffic) bool { return t.Other == o.Other && slices.Equal(t.Ranges, o.Ranges) }

// Has reports whether t covers traffic of a protocol to a port; protocols without ports ignore it.
func (t Traffic) Has(proto intent.Protocol, port uint16) bool {
	if !slices.Contains(withPorts(), proto) {
		return t.Other
	}
	return slices.ContainsFunc(t.Ranges, func(r intent.PortRange) bool { return r.Has(proto, port) })
}

// Union is what is in t or in o.
func (t Traffic) Union(o Traffic) Traffic {
	return Traffic{intent.MergePorts(slices.Concat(t.Ranges, o.Ranges)), t.Other || o.Other}
}

// Intersect is what is in both t and o.
func (t Traffic) Intersect(o Traffic) Traffic {
	out := Traffic{Other: t.Other && o.Other}
	for _, a := range t.Ranges {
		for _, b := range o.Ranges {
			first, last := max(a.First, b.First), min(a.Last, b.Last)
			if a.Protocol == b.Protocol && first <= last {
				out.Ranges = append(out.Ranges, intent.PortRange{Protocol: a.Protocol, First: first, Last: last})
			}
		}
	}
	out.Ranges = intent.MergePorts(out.Ranges)
	return out
}

// Minus is what is in t and not in o.
func (t Traffic) Minus(o Traffic) Traffic {
	rest := t.Intersect(o.complement())
	return rest
}

func (t Traffic) complement() Traffic {
	out := Traffic{Other: !t.Other}
	for _, p := range withPorts() {
		next := 0
		for _, r := range t.Ranges {
			if r.Protocol != p {
				continue
			}
			if int(r.First) > next {
				out.Ranges = append(out.Ranges, intent.PortRange{Protocol: p, First: uint16(next), Last: r.First - 1})
			}
			next = int(r.Last) + 1
		}
		if next <= lastPort {
			out.Ranges = append(out.Ranges, intent.PortRange{Protocol: p, First: uint16(next), Last: lastPort})
		}
	}
	return out
}

// String formats t for display: "everything", "nothing", "tcp/80, udp/53", or "everything except tcp/22" if that is
// shorter.
func (t Traffic) String() string {
	switch rest := t.complement(); {
	case rest.Empty():
		return "everything"
	case t.Empty():
		return "nothing"
	case t.Other && len(rest.Ranges) < len(t.Ranges):
		return "everything except " + rest.list()
	}
	return t.list()
}

func (t Traffic) list() string {
	var parts []string
	for _, r := range t.Ranges {
		parts = append(parts, r.String())
	}
	if t.Other {
		parts = append(parts, "other protocols")
	}
	return strings.Join(parts, ", ")
}
