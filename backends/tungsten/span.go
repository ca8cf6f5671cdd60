package tungsten

import (
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// ends are UUIDs of interfaces; nil stands for everything, inside and outside.
type ends map[string]bool

func (e ends) meet(o ends) bool {
	if e == nil || o == nil {
		return true
	}
	if len(o) < len(e) {
		e, o = o, e
	}
	for id := range e {
		if o[id] {
			return true
		}
	}
	return false
}

// span contains the connections that a write may open or close: a connection has to pass in both directions, so it does not matter in
// which one. The zero value is all connections.
type span struct{ src, dst ends }

// meet reports whether some connection is in a span of each list.
func meet(a, b []span) bool {
	for _, x := range a {
		for _, y := range b {
			if x.src.meet(y.src) && x.dst.meet(y.dst) {
				return true
			}
		}
	}
	return false
}

// spansOf returns the connections that a write may open or close.
func (c *comparison) spansOf(r *write) []span {
	switch {
	case r.add != nil && r.add.From == tungsten.KindInterface:
		return c.spansOfTag(r.add.UUID, r.add.Target)
	case r.remove != nil && r.remove.From == tungsten.KindInterface:
		return c.spansOfTag(r.remove.UUID, r.remove.Target)
	}
	if rule := c.ruleOf(r); rule != nil {
		return []span{c.spanOfRule(rule)}
	}
	return []span{{}}
}

// spanOfRule returns the connections that a rule matches now or in the end, and maybe more.
func (c *comparison) spanOfRule(rule *tungsten.Object) span {
	return span{src: c.endsOf(rule.Endpoint1), dst: c.endsOf(rule.Endpoint2)}
}

func (c *comparison) endsOf(e *tungsten.Endpoint) ends {
	tags := tagsOfEnd(c.names, e)
	if len(tags) == 0 {
		return nil
	}
	return c.holders()[tags[0]]
}

// spansOfTag returns the connections about which an interface's having a tag decides.
func (c *comparison) spansOfTag(port, id string) []span {
	var out []span
	at := ends{port: true}
	for _, d := range intent.Directions() {
		use := [2]bool{} // the interface is the source, or the destination
		source, destination := 0, 1
		subject := destination
		if d == intent.Egress {
			subject = source
		}
		for _, name := range []string{c.names.coverTag(d), c.names.isolatedTag(d)} {
			use[subject] = use[subject] || id == c.names.uuid(tungsten.KindTag, name)
		}
		for _, u := range []*tagUsage{c.haveUsage[id], c.wantUsage[id]} {
			if u != nil {
				use[subject] = use[subject] || u.subject[d]
				use[1-subject] = use[1-subject] || u.peer[d]
			}
		}
		if use[source] {
			out = append(out, span{src: at})
		}
		if use[destination] {
			out = append(out, span{dst: at})
		}
	}
	return out
}

// holders returns the interfaces that have a tag now or in the end, by the UUID of the tag.
func (c *comparison) holders() map[string]ends {
	if c.held != nil {
		return c.held
	}
	c.held = map[string]ends{}
	hold := func(tag, port string) {
		if c.held[tag] == nil {
			c.held[tag] = ends{}
		}
		c.held[tag][port] = true
	}
	for _, p := range c.next.ports.byUUID {
		for tag := range p.tags {
			hold(tag, p.uuid)
		}
		for _, tags := range [][]string{c.next.tags[p.key], c.changed[p.key]} {
			for _, tag := range tags {
				hold(tag, p.uuid)
			}
		}
	}
	for _, in := range []map[string]*tungsten.Object{c.have, c.want} {
		for id, o := range in {
			if o.Kind == tungsten.KindTag && c.held[id] == nil {
				c.held[id] = ends{} // no interface has it
			}
		}
	}
	return c.held
}
