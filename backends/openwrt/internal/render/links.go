package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Rules and translations between interfaces. The device applies them with iptables at once, does not check whether that
// worked, and ignores some conditions: so conditions that it would ignore are rejected here.

// linkWord formats an interface, "" for none.
func linkWord(field string, l intent.Link) (string, error) {
	if l.Addr.IsValid() {
		text, err := addrWord(field, l.Addr)
		return "#" + text, err
	}
	switch {
	case l.Default:
		return "#default", nil
	case l.Source:
		return "#source", nil
	case l.Name == "" || isPlainWord(l.Name):
		return l.Name, nil
	default:
		return "", fmt.Errorf("%s: %q is not an interface", field, l.Name)
	}
}

// isPlainWord reports whether a shell takes text for a single word that is not an option.
func isPlainWord(text string) bool {
	for i, c := range []byte(text) {
		letter := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_'
		if !letter && (i == 0 || !slices.Contains([]byte(".-:@"), c)) {
			return false
		}
	}
	return text != ""
}

func (*renderer) linkRule(w *Wanted, s *intent.LinkRule) (openwrt.Resource, error) {
	src, errSrc := linkWord("from", s.From)
	dst, errDst := linkWord("to", s.To)
	c, errMatch := read(&s.Match, "", "any", "tcp", "udp", "tcpudp")
	f, errVerdict := decide(s.Decides, s.SetMark, s.XorMark)
	f.Name, f.Src, f.Dest = w.Name, src, dst
	f.SrcIP, f.DestIP, f.SrcPort, f.DestPort, f.Proto = c.src, c.dst, c.srcPort, c.dstPort, c.proto
	f.SrcMAC, f.ICMPType, f.Mark, f.Family = s.Match.SrcMAC, s.Match.ICMPTypes, s.Match.Mark, c.family
	var errRest error
	switch {
	case src == "" || s.From.Source || s.To.Source:
		errRest = errors.New("from: expected the interface through which packets arrive")
	case s.Decides == intent.Undecided || s.Decides == intent.NoTrack:
		errRest = errors.New("the device does not support this action for packets between interfaces")
	case s.Decides == intent.Mark && dst != "":
		errRest = errors.New("to: the device cannot limit a mark to packets for one interface")
	case s.Match.Protocol == "icmp" && len(s.Match.ICMPTypes) == 0:
		errRest = errors.New("ICMP types: expected at least one, such as any")
	case s.Match.Protocol != "icmp" && len(s.Match.ICMPTypes) > 0:
		errRest = errors.New("ICMP types: the device ignores them unless the protocol is icmp")
	case s.Match.Family == intent.IPv6:
		errRest = errors.New("the device does not support such rules for IPv6")
	case s.Raw != "":
		errRest = errors.New("further conditions: the device ignores them between interfaces")
	}
	return openwrt.NetworkRule(f), errors.Join(errSrc, errDst, errMatch, errVerdict, errRest,
		markWord("mark", s.Match.Mark))
}

// portedLinks returns the protocols for which iptables matches ports.
func portedLinks() []string { return []string{"tcp", "udp", "udplite", "sctp"} }

func (*renderer) linkNAT(w *Wanted, s *intent.LinkNAT) (openwrt.Resource, error) {
	src, errSrc := linkWord("from", s.From)
	dst, errDst := linkWord("to", s.To)
	c, errMatch := read(&s.Match, "", "", portedLinks()...)
	addr, errAddr := addrWord("new address", s.Addr)
	n := openwrt.NAT{Name: w.Name, Src: src, Dest: dst, SrcIP: c.src, SrcPort: c.srcPort, Proto: c.proto}
	n.Index = number(s.Place)
	n.DestIP, n.DestPort = c.dst, c.dstPort
	var errKind error
	leaves := func() {
		switch {
		case src != "":
			errKind = errors.New("from: the device ignores it for packets that leave")
		case dst == "":
			errKind = errors.New("to: a new source requires the interface through which packets leave")
		}
	}
	switch s.Kind {
	case intent.SourceNAT:
		n.Target, n.SrcDIP, n.SrcDPort = "SNAT", addr, number(s.Port)
		if leaves(); addr == "" {
			errKind = errors.New("a new source requires an address")
		}
	case intent.Masquerade:
		n.Target = "MASQUERADE"
		if leaves(); addr != "" || s.Port != 0 || s.To.Source {
			errKind = errors.New("masquerading does not support a new address or port")
		}
	case intent.DestinationNAT:
		n.Target, n.SrcDIP, n.SrcDPort, n.DestIP, n.DestPort = "DNAT", c.dst, c.dstPort, addr, number(s.Port)
		switch {
		case dst != "":
			errKind = errors.New("to: the device ignores it for packets that arrive")
		case addr == "" && s.Port == 0:
			errKind = errors.New("a new destination requires an address or a port")
		}
	default:
		errKind = errors.New("the device does not support this translation")
	}
	var errRest error
	switch {
	case s.From.Addr.IsValid() || s.To.Addr.IsValid():
		errRest = errors.New("the interface with an address: the device supports only that of the new source")
	case s.Match.Protocol == "tcpudp":
		errRest = errors.New("protocol tcpudp: the device requires one translation for each protocol")
	case s.Port != 0 && !slices.Contains(portedLinks(), s.Match.Protocol):
		errRest = errors.New("new port: the protocol has no ports")
	case s.Match.Family == intent.IPv6:
		errRest = errors.New("the device does not translate IPv6")
	case s.Place < 0:
		errRest = fmt.Errorf("position %d: expected a number from 1", s.Place)
	}
	return n, errors.Join(errSrc, errDst, errMatch, errAddr, errKind, errRest, without(&s.Match))
}

// leaveOutOfChain skips the translations whose place may not exist: the device would insert nothing, and report success. Only one rule of
// the firewall service, and rules written before, are certain to be in a chain.
func (r *renderer) leaveOutOfChain(intents []*intent.DeviceIntent) {
	chains := map[string][]*intent.DeviceIntent{}
	for _, e := range intents {
		if w := r.out.from[e]; w != nil && w.Kind == openwrt.NATs {
			chain := "POSTROUTING"
			if section.Text(w.Object, "target") == "DNAT" {
				chain = "PREROUTING"
			}
			chains[chain] = append(chains[chain], e)
		}
	}
	for chain, list := range chains {
		slices.SortStableFunc(list, func(a, b *intent.DeviceIntent) int {
			x, y := r.out.from[a], r.out.from[b]
			return cmp.Or(cmp.Compare(PlaceOf(x.Object), PlaceOf(y.Object)), x.Compare(y.Key))
		})
		there := 1
		for _, e := range list {
			w := r.out.from[e]
			if place := PlaceOf(w.Object); place > there+1 {
				delete(r.out.Objects, w.Key)
				delete(r.out.from, e)
				delete(r.placed, e.ID)
				r.failed[e.ID] = "it has no valid position"
				r.skip(e, fmt.Sprintf("position %d: the device inserts nothing beyond the end of %s, where only %d rules are certain to be",
					place, chain, there))
				continue
			}
			there++
		}
	}
}

// PlaceOf returns the place of a translation in its chain; 0 for its end.
func PlaceOf(o openwrt.Object) int {
	n, _ := strconv.Atoi(section.Text(o, "index"))
	return n
}
