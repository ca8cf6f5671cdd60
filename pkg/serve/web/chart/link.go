package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/object"
)

// link is what is allowed between two units.
type link struct {
	ports   []string // each once, in order, at most one more than MaxPorts
	pairs   int
	each    int // all pairs within each of some units, if the link is within them and between none; 0 otherwise
	example *connections.Connection
	// source and target are ends of the example.
	source, target Spot
}

// part is the share of a unit in a group.
type part struct {
	unit int
	share
}

// link finds the links between the units.
func (b *builder) link() {
	parts := make([][]part, len(b.report.Groups)+1) // by the ID of a group
	for i, u := range b.units {
		for group, s := range u.shares {
			parts[group] = append(parts[group], part{i, s})
		}
	}
	b.links = map[[2]int]*link{}
	for i := range b.report.Connections {
		c := &b.report.Connections[i]
		again := i > 0 && b.report.Connections[i-1].From == c.From && b.report.Connections[i-1].To == c.To // of another family
		for f := range parts[c.From] {
			for t := range parts[c.To] {
				b.between(c, &parts[c.From][f], &parts[c.To][t], again)
			}
		}
	}
}

// between adds what a connection allows between two parts.
func (b *builder) between(c *connections.Connection, from, to *part, again bool) {
	pairs := from.ends * to.ends
	if c.From == c.To && from.unit == to.unit {
		pairs = from.ends*(from.ends-1) + from.twice
	}
	if pairs == 0 {
		return
	}
	key := [2]int{from.unit, to.unit}
	l := b.links[key]
	if l == nil {
		l = &link{example: c}
		l.source, l.target = spots(&from.share, &to.share)
		b.links[key] = l
	}
	if !again {
		l.pairs += pairs
	}
	l.add(portsOf(c))
}

// spots are ends in two shares, different ones.
func spots(from, to *share) (source, target Spot) {
	source, target = from.spot(0), to.spot(0)
	if len(to.pods) > 1 && source.Pod == target.Pod && source.Pod != (object.Key{}) {
		target = to.spot(1)
	}
	return source, target
}

// spot is one end of a share.
func (s *share) spot(n int) Spot {
	if len(s.pods) > 0 {
		return Spot{Pod: s.pods[n]}
	}
	return Spot{Outside: s.outside}
}

func portsOf(c *connections.Connection) string {
	if c.Family != "" {
		return c.Family + ": " + c.Ports
	}
	return c.Ports
}

func (l *link) add(ports string) {
	if i, known := slices.BinarySearch(l.ports, ports); !known && len(l.ports) <= MaxPorts {
		l.ports = slices.Insert(l.ports, i, ports)
	}
}

func (l *link) merge(o *link) {
	l.pairs += o.pairs
	if l.each == 0 || o.each == 0 {
		l.each = 0
	} else {
		l.each += o.each
	}
	for _, p := range o.ports {
		l.add(p)
	}
}

// what is the same for links that are drawn alike.
func (l *link) what(of int) string { return fmt.Sprint(strings.Join(l.ports, ";"), l.pairs == of) }

func (l *link) done(from, to, of int) Link {
	each := from == to && l.each > 0 && l.each < of
	if each {
		of = l.each
	}
	out := Link{Each: each, From: from, To: to, Ports: l.ports, Pairs: l.pairs, Of: of, Source: l.source, Target: l.target, Traffic: l.example.Traffic()}
	if len(out.Ports) > MaxPorts {
		out.Ports, out.More = out.Ports[:MaxPorts], true
	}
	return out
}
