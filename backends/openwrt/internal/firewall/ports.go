package firewall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// portMatch is what one rule of the device matches of protocol and destination port.
type portMatch struct {
	proto  string
	port   string // one number; "" if it is in words
	words  string // arguments of iptables
	family intent.Families
}

// mostPorts is how many numbers iptables takes in one rule. A range counts as two.
const mostPorts = 15

// Protocols that the device has names for, besides those of policies.
const (
	protocolESP     intent.Protocol = 50
	protocolAH      intent.Protocol = 51
	protocolUDPLite intent.Protocol = 136
)

// portMatches returns the matches that together cover p. Why is what the device cannot express.
func portMatches(p intent.Ports) (list []portMatch, why string) {
	const both = intent.IPv4 | intent.IPv6
	if p.Any {
		return []portMatch{{proto: "all", family: both}}, ""
	}
	ranges := make(map[intent.Protocol][]intent.PortRange)
	for _, r := range p.Ranges {
		ranges[r.Protocol] = append(ranges[r.Protocol], intent.PortRange{First: r.First, Last: r.Last})
	}
	together := len(ranges[intent.TCP]) > 0 && slices.Equal(ranges[intent.TCP], ranges[intent.UDP])
	for i, r := range p.Ranges {
		if i > 0 && p.Ranges[i-1].Protocol == r.Protocol || together && r.Protocol == intent.UDP {
			continue
		}
		own := ranges[r.Protocol]
		switch r.Protocol {
		case intent.TCP:
			proto := "tcp"
			if together {
				proto = "tcpudp"
			}
			list = append(list, numbered(proto, own)...)
		case intent.UDP:
			list = append(list, numbered("udp", own)...)
		case intent.SCTP:
			list = append(list, numbered("sctp", own)...)
		case protocolUDPLite:
			list = append(list, numbered("udplite", own)...)
		case intent.ICMP:
			list = append(list, unnumbered("icmp", intent.IPv4, own)...)
		case intent.ICMPv6: // this is its name on the device for IPv6
			list = append(list, unnumbered("icmp", intent.IPv6, own)...)
		case protocolESP:
			list = append(list, unnumbered("esp", both, own)...)
		case protocolAH:
			list = append(list, unnumbered("ah", both, own)...)
		default:
			return nil, fmt.Sprintf("no %s", r.Protocol)
		}
	}
	return list, ""
}

// unnumbered returns a protocol without ports, whose ranges have port 0.
func unnumbered(proto string, family intent.Families, ranges []intent.PortRange) []portMatch {
	if ranges[0].First > 0 {
		return nil
	}
	return []portMatch{{proto: proto, family: family}}
}

// numbered returns ranges of ports of a protocol.
func numbered(proto string, ranges []intent.PortRange) (list []portMatch) {
	m := portMatch{proto: proto, family: intent.IPv4 | intent.IPv6}
	if ranges[0].First == 0 && ranges[0].Last == 65535 {
		return []portMatch{m}
	}
	var words []string
	used := 0
	end := func() {
		m.port, m.words = "", "-m multiport --dports "+strings.Join(words, ",")
		// The device's field cannot be 0, and for SCTP the device needs a module that may be missing.
		if len(words) == 1 && used == 1 && words[0] != "0" && proto != "sctp" && proto != "udplite" {
			m.port, m.words = words[0], ""
		}
		list = append(list, m)
		words, used = nil, 0
	}
	for _, r := range ranges {
		word, needs := strconv.Itoa(int(r.First)), 1
		if r.First < r.Last {
			word, needs = fmt.Sprintf("%d:%d", r.First, r.Last), 2
		}
		if used+needs > mostPorts {
			end()
		}
		words, used = append(words, word), used+needs
	}
	end()
	return list
}
