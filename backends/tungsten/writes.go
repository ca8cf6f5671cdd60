package tungsten

import (
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// ruleOf returns the rule that a write is about, or that it puts into a policy or removes from one; nil if there is none.
func (c *comparison) ruleOf(r *write) *tungsten.Object {
	id := ""
	switch {
	case r.create != nil:
		id = r.create.UUID
	case r.update != nil:
		id = r.update.uuid
	case r.delete != nil:
		id = r.delete.UUID
	case r.add != nil:
		id = r.add.Target
	case r.remove != nil:
		id = r.remove.Target
	}
	for _, in := range []map[string]*tungsten.Object{c.want, c.have} {
		if o := in[id]; o != nil && o.Kind == tungsten.KindFirewallRule && o.Annotations.Get(annotationFor) != "" {
			return o
		}
	}
	return nil
}

// needs returns the UUIDs of what an object cannot be created without.
func (c *comparison) needs(o *tungsten.Object) []string {
	var out []string
	if o.Kind == tungsten.KindFirewallRule {
		out = endsOf(c.names, o)
	}
	for _, ref := range o.TagRefs {
		out = append(out, ref.UUID)
	}
	return out
}

// rulesOf returns the UUIDs of the rules of a policy.
func (c *comparison) rulesOf(policy *tungsten.Object) []string {
	out := make([]string, 0, len(policy.FirewallRuleRefs))
	for _, ref := range policy.FirewallRuleRefs {
		out = append(out, ref.UUID)
	}
	return out
}

// denies reports whether rules that deny are for the interfaces with a tag.
func (c *comparison) denies(tag string) bool {
	o := c.want[tag]
	return o == nil || c.names.isDenyTag(o.Name())
}

// repairsDeny reports whether a write repairs a rule that denies.
func (c *comparison) repairsDeny(r *write) bool {
	return r.update != nil && r.update.kind == tungsten.KindFirewallRule && !passes(c.want[r.update.uuid])
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
	for _, p := range c.ports.byUUID {
		for tag := range p.tags {
			hold(tag, p.uuid)
		}
		for _, tags := range [][]string{c.tags[p.key], c.changed[p.key]} {
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
