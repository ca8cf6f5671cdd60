package verify

import (
	"fmt"
	"net/netip"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// group is a set of ends of connections that neither policies nor rows distinguish.
type group struct {
	class    *reach.Class
	end      nbtrace.End
	places   []reach.Place
	firewall *firewall // of the namespace; nil if there is none
	inside   bool      // outside addresses, of which some may be in the network of the cluster
	shown    *reach.Group
	policies *[2][]*intent.Policy // that select the group, by direction; nil until they are needed
}

// outside reports whether g is addresses outside.
func (g *group) outside() bool { return g.places[0].Standing.IsValid() }

// addr is an address of g.
func (g *group) addr() netip.Addr { return g.places[0].Party.Addr }

// classify splits the classes of policies by what rows and firewalls distinguish.
func (c *comparison) classify(places []reach.Place, named []netip.Prefix) {
	inside := c.network.inside(named)
	for _, class := range reach.Classify(places, c.state.Snapshot) {
		byKey := map[string]*group{}
		for _, p := range class.Places {
			g := &group{class: class, inside: p.Standing.IsValid() && inside(p.Party.Addr)}
			if !p.Standing.IsValid() {
				g.firewall = c.firewalls[p.Party.Key.Namespace]
			}
			g.end = c.tracer.End(c.portOf[p.Party.Key], p.Party.Addr)
			key := fmt.Sprintf("%p %t %t %t %s ", g.firewall, g.inside, p.Standing.IsValid(), linkLocal(p.Party.Addr), g.end.Key())
			if p.Standing.IsValid() {
				key += c.blocks(p.Party.Addr)
			}
			if known := byKey[key]; known != nil {
				known.places = append(known.places, p)
				continue
			}
			g.places = []reach.Place{p}
			byKey[key] = g
			c.groups = append(c.groups, g)
		}
	}
}

// blocks identifies the prefixes of firewalls that contain an address.
func (c *comparison) blocks(a netip.Addr) string {
	var key []byte
	for _, n := range c.blockBits {
		contained := byte('0')
		if p, err := a.Prefix(n); err == nil && c.blockSet[p] {
			contained = '1'
		}
		key = append(key, contained)
	}
	return string(key)
}

// show is g as reports have it.
func (c *comparison) show(g *group) *reach.Group {
	if g.shown == nil {
		g.shown = &reach.Group{Outside: c.areas.Of(g.places)}
		for _, p := range g.places {
			if !p.Standing.IsValid() {
				g.shown.Pods = append(g.shown.Pods, podKey(p.Party.Key))
			}
		}
	}
	return g.shown
}

// example chooses two places that a connection goes between.
func example(from, to *group) (a, b reach.Place) {
	a, b = from.places[0], to.places[0]
	if from == to {
		b = to.places[1]
	}
	return a, b
}

// half is what rows allow in one direction.
type half struct {
	spans            []nbtrace.Span
	allowed, unknown reach.Traffic
}

// halfOf reads spans, which a judge returns many times.
func (c *comparison) halfOf(spans []nbtrace.Span) *half {
	if h := c.halves[&spans[0]]; h != nil {
		return h
	}
	h := &half{spans: spans}
	var allowed, unknown []intent.PortRange
	for _, s := range spans {
		r := intent.PortRange{Protocol: intent.Protocol(s.Protocol), First: s.First, Last: s.Last}
		switch {
		case s.Step.Verdict == nbtrace.Unknown || s.Step.Ambiguous:
			unknown = append(unknown, r)
		case s.Step.Verdict.Allows():
			allowed = append(allowed, r)
		}
	}
	h.allowed, h.unknown = reach.Traffic{Ranges: intent.MergePorts(allowed)}, reach.Traffic{Ranges: intent.MergePorts(unknown)}
	c.halves[&spans[0]] = h
	return h
}
