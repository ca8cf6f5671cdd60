package conntrack

import (
	"net/netip"
	"strconv"
	"strings"
)

// Connection is an established connection. It is comparable: one that several zones track is equal in all of them.
type Connection struct {
	Protocol string // tcp, udp, sctp, icmp or icmpv6
	Src, Dst netip.Addr
	// SrcPort and Port are those of source and destination; 0 for protocols without ports. Destination and its port are those that reply, not
	// those of a Service.
	SrcPort, Port uint16
}

// Parse reads a line. It returns false for one that is not about a connection that is established: TCP and SCTP in any other state, another
// protocol, or anything else.
func Parse(line string) (Connection, bool) {
	protocol, rest, ok := strings.Cut(strings.TrimSpace(line), ",")
	if !ok {
		return Connection{}, false
	}
	ports := true
	switch protocol {
	case "tcp", "sctp":
		if !strings.Contains(rest, "protoinfo=(state=ESTABLISHED") {
			return Connection{}, false
		}
	case "udp":
	case "icmp", "icmpv6":
		ports = false
	default:
		return Connection{}, false
	}
	orig, ok := tuple(rest, "orig=(")
	reply, replies := tuple(rest, "reply=(")
	if !ok || !replies {
		return Connection{}, false
	}
	c := Connection{Protocol: protocol}
	c.Src, _ = netip.ParseAddr(orig["src"])
	c.Dst, _ = netip.ParseAddr(reply["src"])
	if !c.Src.IsValid() || !c.Dst.IsValid() || c.Src.Is4() != c.Dst.Is4() || c.Src.Zone()+c.Dst.Zone() != "" {
		return Connection{}, false
	}
	if !ports {
		return c, true
	}
	from, err := strconv.ParseUint(orig["sport"], 10, 16)
	to, fault := strconv.ParseUint(reply["sport"], 10, 16)
	if err != nil || fault != nil {
		return Connection{}, false
	}
	c.SrcPort, c.Port = uint16(from), uint16(to)
	return c, true
}

// tuple reads what is between begin and the next parenthesis.
func tuple(text, begin string) (map[string]string, bool) {
	_, after, ok := strings.Cut(text, begin)
	inside, _, closed := strings.Cut(after, ")")
	if !ok || !closed {
		return nil, false
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(inside, ",") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	return fields, true
}
