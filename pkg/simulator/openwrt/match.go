package openwrt

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// match is the match of a rule. Empty fields match everything.
type match struct {
	in, out          string
	family           string
	protos           []string
	src, dst         []string
	srcPort, dstPort string
	mac, mark        string
	icmp             []string
}

// matchOf reads the match of a section, without places: dst and dstPort are the options for the destination, proto is the
// protocol if the section has none.
func matchOf(s *section, dst, dstPort, proto string) match {
	m := match{
		family: s.text("family"), protos: s.items("proto"), src: s.items("src_ip"), dst: s.items(dst),
		srcPort: s.text("src_port"), dstPort: s.text(dstPort), mac: s.text("src_mac"), mark: s.text("mark"), icmp: s.items("icmp_type"),
	}
	if len(m.protos) == 0 {
		m.protos = []string{proto}
	}
	return m
}

// match is the match of an iptables rule.
func (r chainRule) match() match {
	m := match{
		in: r.in, out: r.out, protos: parts(r.proto, " "), src: parts(r.src, " "), dst: parts(r.dst, " "),
		srcPort: r.srcPort, dstPort: r.dstPort, mac: r.mac, mark: r.mark, icmp: parts(r.icmp, " "),
	}
	if len(m.protos) == 0 {
		m.protos = []string{"all"}
	}
	return m
}

// covers reports whether a packet in flight matches m.
func (m match) covers(f *flight) bool {
	return (m.in == "" || m.in == f.In) && (m.out == "" || m.out == f.out) && familyCovers(m.family, f.Dst) &&
		slices.ContainsFunc(m.protos, func(p string) bool { return protoCovers(p, f.Proto) }) &&
		anyCovers(m.src, f.Src) && anyCovers(m.dst, f.Dst) &&
		portCovers(m.srcPort, f.SrcPort) && portCovers(m.dstPort, f.DstPort) &&
		(m.mac == "" || strings.EqualFold(m.mac, f.MAC)) && markCovers(m.mark, f.mark) &&
		(f.Proto != "icmp" || len(m.icmp) == 0 || slices.Contains(m.icmp, "any") || slices.Contains(m.icmp, f.ICMPType))
}

func familyCovers(family string, a netip.Addr) bool {
	switch family {
	case "ipv4":
		return a.Is4()
	case "ipv6":
		return a.Is6()
	default:
		return true
	}
}

func protoCovers(want, got string) bool {
	return want == "all" || want == "any" || want == got || want == "tcpudp" && (got == "tcp" || got == "udp")
}

// anyCovers reports whether a is in one of the prefixes; none is all. A prefix after an exclamation mark excludes.
func anyCovers(prefixes []string, a netip.Addr) bool {
	covered := true
	for _, p := range prefixes {
		if rest, not := strings.CutPrefix(p, "!"); not {
			if prefixCovers(rest, a) {
				return false
			}
			continue
		}
		if prefixCovers(p, a) {
			return true
		}
		covered = false
	}
	return covered
}

// prefixCovers reads an address or a prefix. Invalid text covers nothing.
func prefixCovers(text string, a netip.Addr) bool {
	if text == "default" {
		return true
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked().Contains(a)
	}
	one, err := netip.ParseAddr(text)
	return err == nil && one == a
}

// portCovers reads a port or a range.
func portCovers(text string, port uint16) bool {
	if text == "" {
		return true
	}
	first, last, isRange := strings.Cut(strings.ReplaceAll(text, ":", "-"), "-")
	if !isRange {
		last = first
	}
	low, ok1 := number(first)
	high, ok2 := number(last)
	return ok1 && ok2 && low <= float64(port) && float64(port) <= high
}

// markCovers reads a mark, with an optional mask, and with an exclamation mark before it for any other.
func markCovers(text string, mark uint32) bool {
	if text == "" {
		return true
	}
	rest, not := strings.CutPrefix(text, "!")
	value, mask := readMark(rest)
	return (mark&mask == value) != not
}

// readMark reads value or value/mask.
func readMark(text string) (value, mask uint32) {
	v, m, masked := strings.Cut(text, "/")
	value, mask = readUint(v), ^uint32(0)
	if masked {
		mask = readUint(m)
	}
	return value, mask
}

func readUint(text string) uint32 {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}
