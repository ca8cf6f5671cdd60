package scenario

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/oracle"
)

// probe is a line of the script that expects something of flows.
type probe struct {
	step  step
	flows []intent.Flow
	allow bool
}

// parseProbe reads FROM -> TO [v4|v6] PORTS allow|deny, where pods are those of the moment.
func parseProbe(s step, pods map[string]*corev1.Pod) (probe, error) {
	w := s.words[1:]
	if len(w) < 5 || w[1] != "->" {
		return probe{}, fmt.Errorf("expected FROM -> TO [v4|v6] PORTS allow|deny")
	}
	from, to, family, rest := w[0], w[2], "", w[3:]
	if rest[0] == "v4" || rest[0] == "v6" {
		family, rest = rest[0], rest[1:]
	}
	if len(rest) != 2 || rest[1] != "allow" && rest[1] != "deny" {
		return probe{}, fmt.Errorf("expected ports and then allow or deny")
	}
	p := probe{step: s, allow: rest[1] == "allow"}
	for src := range strings.SplitSeq(from, ",") {
		for dst := range strings.SplitSeq(to, ",") {
			pairs, err := ends(src, dst, family, pods)
			if err != nil {
				return probe{}, err
			}
			for _, pair := range pairs {
				flows, err := shots(pair, rest[0])
				if err != nil {
					return probe{}, err
				}
				p.flows = append(p.flows, flows...)
			}
		}
	}
	return p, nil
}

// ends pairs the addresses of both ends that have a family in common. A pod meets itself at one address.
func ends(src, dst, family string, pods map[string]*corev1.Pod) ([][2]intent.Party, error) {
	from, err := parties(src, pods)
	if err != nil {
		return nil, err
	}
	to, err := parties(dst, pods)
	if err != nil {
		return nil, err
	}
	var pairs [][2]intent.Party
	for _, a := range from {
		for _, b := range to {
			v4 := a.Addr.Is4()
			if v4 != b.Addr.Is4() || family == "v4" && !v4 || family == "v6" && v4 || src == dst && a != b {
				continue
			}
			pairs = append(pairs, [2]intent.Party{a, b})
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s and %s have no address family in common", src, dst)
	}
	return pairs, nil
}

// parties is who one end of a probe may be: a pod with each of its addresses, or an address that no pod holds. A pod on
// the host's network is known by its address alone.
func parties(end string, pods map[string]*corev1.Pod) ([]intent.Party, error) {
	if a, err := netip.ParseAddr(end); err == nil {
		for name, p := range pods {
			for _, held := range podParties(p) {
				if held.Addr == a && held.Key != (intent.Key{}) {
					return nil, fmt.Errorf("%s is pod %s: probe it by name", a, name)
				}
			}
		}
		return []intent.Party{{Addr: a}}, nil
	}
	p := pods[end]
	if p == nil {
		return nil, fmt.Errorf("%q is neither a pod nor an address", end)
	}
	list := podParties(p)
	if len(list) == 0 {
		return nil, fmt.Errorf("pod %s has no address that is its own", end)
	}
	return list, nil
}

func podParties(p *corev1.Pod) []intent.Party {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	var list []intent.Party
	for _, ip := range p.Status.PodIPs {
		party := intent.Party{Addr: netip.MustParseAddr(ip.IP)}
		if !p.Spec.HostNetwork {
			party.Key = intent.Key{Namespace: p.Namespace, Name: p.Name}
		}
		list = append(list, party)
	}
	return list
}

// shots sends what ports says from one end to the other.
func shots(pair [2]intent.Party, ports string) ([]intent.Flow, error) {
	protocols := map[string]intent.Protocol{"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP}
	var flows []intent.Flow
	for port := range strings.SplitSeq(ports, ",") {
		f := intent.Flow{Src: pair[0], Dst: pair[1], Protocol: intent.ICMP}
		if f.Src.Addr.Is6() {
			f.Protocol = intent.ICMPv6
		}
		if port != "icmp" {
			protocol, number, _ := strings.Cut(port, "/")
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil || protocols[protocol] == 0 {
				return nil, fmt.Errorf("%q: expected icmp or a port such as tcp/80", port)
			}
			f.Protocol, f.Port = protocols[protocol], uint16(n)
		}
		flows = append(flows, f)
	}
	return flows, nil
}

// oracleFlow is f in the words of the oracle.
func oracleFlow(f intent.Flow) oracle.Flow {
	end := func(p intent.Party) oracle.End {
		if p.Key == (intent.Key{}) {
			return oracle.End{Addr: p.Addr}
		}
		return oracle.End{Pod: p.Key.Namespace + "/" + p.Key.Name, Addr: p.Addr}
	}
	o := oracle.Flow{Src: end(f.Src), Dst: end(f.Dst), Port: int32(f.Port)}
	switch f.Protocol {
	case intent.TCP:
		o.Protocol = corev1.ProtocolTCP
	case intent.UDP:
		o.Protocol = corev1.ProtocolUDP
	case intent.SCTP:
		o.Protocol = corev1.ProtocolSCTP
	case intent.ICMP, intent.ICMPv6:
		o.Protocol = oracle.ICMP
	}
	return o
}
