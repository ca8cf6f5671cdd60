package render

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// What decides through which interface traffic leaves: policies and rules of mwan3, routes and routing rules.

func (r *renderer) wanPolicy(w *Wanted, s *intent.WANPolicy) (openwrt.Resource, error) {
	p := openwrt.Policy{Name: w.Name}
	if len(s.Members) == 0 {
		return nil, errors.New("a policy requires a network")
	}
	for _, m := range s.Members {
		iface, err := r.network(m.Network)
		if err != nil {
			return nil, err
		}
		if m.Metric < 1 || m.Weight < 1 {
			return nil, fmt.Errorf("network %q: metric %d and weight %d: expected numbers from 1", m.Network, m.Metric, m.Weight)
		}
		p.Members = append(p.Members, openwrt.Member{Interface: iface, Metric: number(m.Metric), Weight: number(m.Weight)})
	}
	return p, nil
}

func (r *renderer) wanRule(w *Wanted, s *intent.WANRule) (openwrt.Resource, error) {
	policy, err := r.refer(w, openwrt.Policies, s.Policy)
	if err == nil && policy == "" {
		err = errors.New("a rule requires a policy")
	}
	c, errMatch := read(&s.Match, "", "all", "tcp", "udp")
	sticky, errSticky := toggle(s.Sticky)
	switch s.Match.Protocol {
	case "", "tcp", "udp", "icmp", "all":
	default:
		errMatch = errors.Join(errMatch, fmt.Errorf("protocol %s: the device supports tcp, udp, icmp and all here", s.Match.Protocol))
	}
	if s.Timeout < 0 {
		errSticky = errors.Join(errSticky, fmt.Errorf("timeout of %d s: must not be negative", s.Timeout))
	}
	return openwrt.PolicyRule{
		Name: w.Name, Policy: policy, SrcIP: c.src, SrcPort: c.srcPort, DestIP: c.dst, DestPort: c.dstPort, Proto: c.proto,
		Family: c.family, Sticky: sticky, Timeout: number(s.Timeout),
	}, errors.Join(err, errMatch, errSticky, without(&s.Match))
}

func (*renderer) route(w *Wanted, s *intent.Route) (openwrt.Resource, error) {
	dst, errDst := prefixWord("destination", s.Dst)
	via, errVia := addrWord("next hop", s.Via)
	dev, errDev := linkWord("interface", s.Dev)
	if s.Dst.IsValid() && s.Dst.Bits() == 0 {
		dst = "default"
	}
	tables := map[string]string{intent.TableMain: "default", intent.TableCNF: "cnf"}
	var errRest error
	switch {
	case !s.Dst.IsValid():
		errRest = errors.New("destination: not set")
	case dev == "" || s.Dev.Source:
		errRest = errors.New("interface: not set")
	case tables[s.Table] == "":
		errRest = fmt.Errorf("table %q: the device has routes in the main table and in %s", s.Table, intent.TableCNF)
	}
	return openwrt.Route{Name: w.Name, Dst: dst, GW: via, Dev: dev, Table: tables[s.Table]},
		errors.Join(errDst, errVia, errDev, errRest)
}

func (r *renderer) routeRule(w *Wanted, s *intent.RouteRule) (openwrt.Resource, error) {
	src, errSrc := prefixWord("source", s.Src)
	dst, errDst := prefixWord("destination", s.Dst)
	var errRest error
	const most = 1<<32 - 1 // the kernel does not take more, which the device does not notice
	if n, err := strconv.ParseUint(s.Table, 10, 64); err == nil && n > most || errors.Is(err, strconv.ErrRange) {
		errRest = fmt.Errorf("table %s: expected at most %d", s.Table, most)
	}
	if s.Priority < 0 || s.Priority > most {
		errRest = fmt.Errorf("priority %d: expected a number from 1 to %d", s.Priority, most)
	}
	prio := cmp.Or(s.Priority, r.priorities[intent.DeviceIntentID(w.Intent)])
	if prio == 0 {
		errRest = fmt.Errorf("no number from %d to %d is left for a rule without a priority: set spec.prio", firstDefault, lastDefault)
	}
	return openwrt.RouteRule{
		Name: w.Name, Src: src, Dst: dst, Prio: number(prio), Table: s.Table, FWMark: s.Mark, Not: s.Not,
	}, errors.Join(errSrc, errDst, errRest, markWord("mark", s.Mark))
}

// application lists the IPv4 addresses of a set. One without any has no object. The kernel keeps one rule for an address:
// if two applications have one, it is in the first, and moves to the other when the first drops it.
func (r *renderer) application(w *Wanted, s *intent.Application) (openwrt.Resource, error) {
	r.out.Sets[s.Sources] = true
	set := r.want.Set(s.Sources)
	if set == nil {
		return nil, fmt.Errorf("set %s does not exist", s.Sources)
	}
	var addrs []string
	for _, a := range set.Addrs() {
		if text := a.String(); a.Is4() && r.taken[section.AddressPlace(text)] == "" {
			addrs = append(addrs, text)
		}
	}
	if len(addrs) == 0 {
		return nil, nil
	}
	return openwrt.Application{Name: w.Name, IPList: strings.Join(addrs, ",")}, nil
}
