package verify

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// comparison is the state while rows are compared with policies.
type comparison struct {
	state     *world.State
	tracer    *nbtrace.Tracer
	judge     *nbtrace.Judge
	origins   *origins
	network   *network
	firewalls map[string]*firewall // by namespace
	blockSet  map[netip.Prefix]bool
	blockBits []int
	portOf    map[object.Key]string
	areas     reach.Areas
	groups    []*group
	halves    map[*nbtrace.Span]*half
	ports     reach.Traffic   // everything that is judged
	dualPods  map[string]bool // those with addresses of both families, by name
	report    *Report
	found     findings
}

// dualPods are the pods with addresses of both families.
func dualPods(view labelcache.View) map[string]bool {
	out := map[string]bool{}
	for e := range view.Endpoints() {
		is4 := func(a netip.Addr) bool { return a.Is4() }
		is6 := func(a netip.Addr) bool { return a.Is6() }
		if slices.ContainsFunc(e.Addrs, is4) && slices.ContainsFunc(e.Addrs, is6) {
			out[podKey(e.Key)] = true
		}
	}
	return out
}

// Compare judges every connection by the rows of a database and by the policies of a state.
func Compare(state *world.State, rows *nbtrace.Rows) *Report {
	tracer, faults := nbtrace.New(*rows)
	ports := reach.All()
	ports.Other = false
	c := &comparison{
		state: state, tracer: tracer, judge: nbtrace.NewJudge(tracer), origins: newOrigins(rows),
		firewalls: map[string]*firewall{}, blockSet: map[netip.Prefix]bool{}, portOf: map[object.Key]string{},
		halves: map[*nbtrace.Span]*half{}, ports: ports, dualPods: dualPods(state.View), report: newReport(), found: findings{byReason: map[string][]*Finding{}},
	}
	c.readFaults(faults)
	for _, kind := range state.Unavailable {
		if object.IsPolicy(kind) || kind == object.KindEgressFirewall {
			c.report.Unknown = append(c.report.Unknown, fmt.Sprintf("objects of kind %s cannot be read", kind))
		}
	}
	endpoints := slices.Collect(state.View.Endpoints())
	c.network = newNetwork(state, endpoints, rows)
	pods := c.locate(endpoints, rows.Ports)
	named := slices.Concat(reach.Prefixes(state.Snapshot), tracer.Prefixes(), c.readFirewalls())
	places := append(reach.PlacesOf(pods), c.network.outside(named)...)
	c.areas = reach.AreasOf(places)
	c.classify(places, named)
	for _, from := range c.groups {
		for _, to := range c.groups {
			if c.connects(from, to) {
				c.compare(from, to)
			}
		}
	}
	c.report.Classes = len(c.groups)
	c.report.finish(c)
	return c.report
}

// readFaults records rows that cannot be evaluated.
func (c *comparison) readFaults(err error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, fault := range joined.Unwrap() {
		var acl *nbtrace.ACLError
		var set *nbtrace.SetError
		switch {
		case errors.As(fault, &acl):
			c.report.Invalid = append(c.report.Invalid, fault.Error())
		case errors.As(fault, &set):
			c.report.Unknown = append(c.report.Unknown, fault.Error())
		}
	}
}

// readFirewalls indexes the firewalls by namespace, and returns the prefixes that they name.
func (c *comparison) readFirewalls() []netip.Prefix {
	var named []netip.Prefix
	for _, f := range c.state.Objects.Firewalls {
		w := newFirewall(f)
		c.firewalls[f.Namespace] = w
		named = append(named, w.prefixes()...)
	}
	for _, p := range named {
		c.blockSet[p] = true
		c.blockBits = append(c.blockBits, p.Bits())
	}
	slices.Sort(c.blockBits)
	c.blockBits = slices.Compact(c.blockBits)
	return named
}

// locate finds the logical ports of pods, and returns the pods to judge.
func (c *comparison) locate(endpoints []*labelcache.Endpoint, rows []nbtrace.Port) []intent.Endpoint {
	ports := newPorts(rows)
	var pods []intent.Endpoint
	here := map[string]bool{} // the nodes of pods with a port
	var without []*labelcache.Endpoint
	for _, e := range endpoints {
		name := podKey(e.Key)
		if len(e.Shared) > 0 {
			c.report.Unknown = append(c.report.Unknown, fmt.Sprintf("pod %s shares an address with another pod", name))
			continue
		}
		if len(e.Addrs) == 0 {
			c.report.NotJudged.Pods = append(c.report.NotJudged.Pods, name)
			continue
		}
		port, err := ports.find(e)
		if err != nil {
			c.report.Unknown = append(c.report.Unknown, fmt.Sprintf("pod %s: %v", name, err))
			continue
		}
		pods = append(pods, intent.Endpoint{Key: e.Key, Addrs: e.Addrs, Node: e.Node})
		if port == "" {
			without = append(without, e)
			continue
		}
		c.portOf[e.Key] = port
		here[e.Node] = true
		c.report.Pods++
	}
	for _, e := range without {
		name := podKey(e.Key)
		if e.Node == "" || here[e.Node] {
			c.report.Unknown = append(c.report.Unknown, fmt.Sprintf("pod %s has no logical port", name))
			continue
		}
		c.report.NotJudged.Elsewhere = append(c.report.NotJudged.Elsewhere, name)
	}
	if c.report.Pods == 0 {
		c.report.Unknown = append(c.report.Unknown, "no pod has a logical port in the database: nothing was judged")
	}
	return pods
}

// connects reports whether connections between two groups are judged.
func (c *comparison) connects(from, to *group) bool {
	return from.class.Family == to.class.Family && (from.end.Port != "" || to.end.Port != "") &&
		(from != to || len(from.places) > 1) && (!from.outside() || !linkLocal(from.addr()))
}

// compare compares the connections from one group to another.
func (c *comparison) compare(from, to *group) {
	c.report.Pairs++
	p := pair{from: from, to: to, wants: [2]reach.Traffic{c.ports, c.ports}, rows: [2]*half{}}
	expected, allowed, unclear, undefined := c.ports, c.ports, reach.Traffic{}, reach.Traffic{}
	judge := func(d intent.Direction, wants reach.Traffic, h *half) {
		p.wants[d], p.rows[d] = wants, h
		expected, allowed = c.both(expected, wants), c.both(allowed, h.allowed)
		if !h.unknown.Empty() {
			unclear = unclear.Union(h.unknown)
		}
	}
	if from.end.Port != "" {
		wants := c.both(from.class.Side(0, intent.Egress, to.class), c.ports)
		if from.firewall != nil && to.outside() {
			if to.inside {
				c.report.NotJudged.Inside++
				return
			}
			var passes reach.Traffic
			passes, undefined = from.firewall.judge(to.addr())
			wants = wants.Intersect(passes.Union(undefined))
		}
		judge(intent.Egress, wants, c.halfOf(c.judge.Egress(&from.end, &to.end)))
	}
	if to.end.Port != "" {
		judge(intent.Ingress, c.both(to.class.Side(0, intent.Ingress, from.class), c.ports), c.halfOf(c.judge.Ingress(&from.end, &to.end)))
	}
	if expected.Equal(allowed) && unclear.Empty() && undefined.Empty() {
		return
	}
	for d := range p.rows { // a direction that certainly denies decides
		if h := p.rows[d]; h != nil {
			unclear = unclear.Intersect(h.allowed.Union(h.unknown))
		}
	}
	if !unclear.Empty() {
		c.unclear(&p, unclear)
	}
	judged := c.ports.Minus(unclear).Minus(undefined)
	if !undefined.Intersect(expected.Union(allowed)).Empty() {
		c.report.NotJudged.Names++
	}
	c.found.add(c, &p, Opens, allowed.Minus(expected).Intersect(judged))
	c.found.add(c, &p, Closes, expected.Minus(allowed).Intersect(judged))
}

// both is what two kinds of traffic have in common, of what is judged. Most often one of them is everything.
func (c *comparison) both(a, b reach.Traffic) reach.Traffic {
	switch {
	case slices.Equal(a.Ranges, c.ports.Ranges):
		return reach.Traffic{Ranges: b.Ranges}
	case slices.Equal(b.Ranges, c.ports.Ranges):
		return reach.Traffic{Ranges: a.Ranges}
	}
	return a.Intersect(b)
}

// unclear records connections for which the rows do not determine whether they are allowed.
func (c *comparison) unclear(p *pair, traffic reach.Traffic) {
	c.report.UnknownPairs++
	for _, h := range p.rows {
		if h == nil {
			continue
		}
		for _, s := range h.spans {
			if s.Step.Verdict != nbtrace.Unknown && !s.Step.Ambiguous || !traffic.Has(intent.Protocol(s.Protocol), s.First) && !overlaps(traffic, s) {
				continue
			}
			why := "default_acl_drop on a switch without ACLs"
			if s.Step.ACL != nil {
				why = fmt.Sprintf("ACL %s: cannot tell whether it decides: match %q", s.Step.ACL.UUID, s.Step.ACL.Match)
			}
			if s.Step.Ambiguous {
				why = fmt.Sprintf("ACL %s: another one of its tier and priority decides otherwise: match %q", s.Step.ACL.UUID, s.Step.ACL.Match)
			}
			c.report.unknownACL(why)
		}
	}
}

// overlaps reports whether traffic has a port of a span.
func overlaps(t reach.Traffic, s nbtrace.Span) bool {
	return slices.ContainsFunc(t.Ranges, func(r intent.PortRange) bool {
		return uint8(r.Protocol) == s.Protocol && r.First <= s.Last && s.First <= r.Last
	})
}
