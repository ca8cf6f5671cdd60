package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/script"
)

const probeForm = "expected FROM -> TO [v4|v6] [in NETWORK] PORTS OUTCOME [via BACKEND,...]"

// probe is a line of the script with an expectation of flows.
type probe struct {
	step    script.Step
	flows   []intent.Flow
	outcome outcome
	via     []via // the backends that the flows may be sent on to; nil if not given
}

// site is one end of a flow and its node; "" if it does not matter.
type site struct {
	intent.Party
	node string
}

// aim is the properties of a probe's flows apart from the ends.
type aim struct {
	family, network, ports string
}

// parseProbe reads a line like "FROM -> TO tcp/80 allow" in the current state.
func (st *stage) parseProbe(s script.Step) (probe, error) {
	w := s.Words[1:]
	if len(w) < 3 || w[1] != "->" {
		return probe{}, errors.New(probeForm)
	}
	from, to, rest := w[0], w[2], w[3:]
	var a aim
	if len(rest) > 0 && (rest[0] == "v4" || rest[0] == "v6") {
		a.family, rest = rest[0], rest[1:]
	}
	if len(rest) > 1 && rest[0] == "in" {
		a.network, rest = rest[1], rest[2:]
	}
	if service, port, ok := st.servicePort(to); ok {
		to, a.ports = service, port
	} else if len(rest) > 0 {
		a.ports, rest = rest[0], rest[1:]
	}
	p := probe{step: s}
	if len(rest) != 1 && (len(rest) != 3 || rest[1] != "via") || !isOutcome(rest[0]) {
		return probe{}, fmt.Errorf("%s, where the outcome is one of %v", probeForm, outcomes())
	}
	p.outcome = outcome(rest[0])
	if len(rest) == 3 {
		var err error
		if p.via, err = st.vias(rest[2]); err != nil {
			return probe{}, err
		}
	}
	for src := range strings.SplitSeq(from, ",") {
		for dst := range strings.SplitSeq(to, ",") {
			flows, err := st.flows(src, dst, a)
			if err != nil {
				return probe{}, err
			}
			p.flows = append(p.flows, flows...)
		}
	}
	if len(p.flows) == 0 {
		return probe{}, fmt.Errorf("%s and %s have no address family in common", from, to)
	}
	return p, nil
}

// servicePort reads NAMESPACE/SERVICE:PORT as the cluster IPs of the Service and its port, where PORT is the name or the
// number of one of its ports. It returns false for text that is not a Service.
func (st *stage) servicePort(to string) (addrs, ports string, ok bool) {
	name, port, ok := strings.Cut(to, ":")
	s := st.services[name]
	if !ok || s == nil {
		return "", "", false
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.Name == port || strconv.Itoa(int(p.Port)) == port {
			protocol := strings.ToLower(string(cmp.Or(p.Protocol, corev1.ProtocolTCP)))
			return strings.Join(s.Spec.ClusterIPs, ","), fmt.Sprintf("%s/%d", protocol, p.Port), true
		}
	}
	return "", "", false
}

// flows are those between addresses of one family at both ends. A pod connects to itself at one address. Addresses of a
// Service in a family that the sender lacks are skipped.
func (st *stage) flows(src, dst string, a aim) ([]intent.Flow, error) {
	from, err := sites(src, st.pods)
	if err != nil {
		return nil, err
	}
	to, err := sites(dst, st.pods)
	if err != nil {
		return nil, err
	}
	var flows []intent.Flow
	for _, f := range from {
		for _, t := range to {
			v4 := f.Addr.Is4()
			if v4 != t.Addr.Is4() || a.family == "v4" && !v4 || a.family == "v6" && v4 || src == dst && f != t {
				continue
			}
			shot := intent.Flow{Src: f.Party, Dst: t.Party, Node: f.node, Network: a.network}
			fired, err := shots(shot, a.ports)
			if err != nil {
				return nil, err
			}
			flows = append(flows, fired...)
		}
	}
	if len(flows) == 0 && !st.isClusterIP(dst) {
		return nil, fmt.Errorf("%s and %s have no address family in common", src, dst)
	}
	return flows, nil
}

func (st *stage) isClusterIP(addr string) bool {
	for _, s := range st.services {
		if slices.Contains(s.Spec.ClusterIPs, addr) {
			return true
		}
	}
	return false
}

// sites lists what one end of a probe may be: a pod with each of its addresses, or an address without a pod, optionally
// with the node where it enters: ADDRESS@NODE. A pod on the host network is only known by its address.
func sites(end string, pods map[string]*corev1.Pod) ([]site, error) {
	text, node, _ := strings.Cut(end, "@")
	if a, err := netip.ParseAddr(text); err == nil {
		for name, p := range pods {
			for _, own := range podSites(p) {
				if own.Addr == a && own.Key != (object.Key{}) {
					return nil, fmt.Errorf("%s is pod %s: probe it by name", a, name)
				}
			}
		}
		return []site{{Party: intent.Party{Addr: a}, node: node}}, nil
	}
	p := pods[end]
	if p == nil {
		return nil, fmt.Errorf("%q is neither a pod nor an address", end)
	}
	list := podSites(p)
	if len(list) == 0 {
		return nil, fmt.Errorf("pod %s has no address that is its own", end)
	}
	return list, nil
}

func podSites(p *corev1.Pod) []site {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	var list []site
	for _, ip := range p.Status.PodIPs {
		s := site{Party: intent.Party{Addr: netip.MustParseAddr(ip.IP)}, node: p.Spec.NodeName}
		if !p.Spec.HostNetwork {
			s.Key = object.Key{Namespace: p.Namespace, Name: p.Name}
		}
		list = append(list, s)
	}
	return list
}

// shots returns the flows for ports from one end of f to the other.
func shots(f intent.Flow, ports string) ([]intent.Flow, error) {
	protocols := map[string]intent.Protocol{"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP}
	var flows []intent.Flow
	for port := range strings.SplitSeq(ports, ",") {
		f.Protocol, f.Port = intent.ICMP, 0
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
