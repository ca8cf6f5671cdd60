package verify

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// explain gives a finding an example, and the policies that decide on it by the API.
func (c *comparison) explain(f *Finding) {
	a, b := example(f.from, f.to)
	r := f.traffic.Ranges[0]
	f.Example = Example{Src: a.Party.Addr, Dst: b.Party.Addr, Protocol: r.Protocol.String(), Port: r.First}
	if r.First == 0 && r.Last > 0 {
		f.Example.Port = 1 // port 0 looks like none
	}
	for _, end := range []struct {
		name *string
		key  object.Key
	}{{&f.Example.From, a.Party.Key}, {&f.Example.To, b.Party.Key}} {
		if end.key != (object.Key{}) {
			*end.name = podKey(end.key)
		}
	}
	flow := intent.Flow{Src: a.Party, Dst: b.Party, Protocol: r.Protocol, Port: f.Example.Port}
	for _, d := range f.ACLs {
		direction, subject := intent.Ingress, f.to
		if d.Direction == intent.Egress.String() {
			direction, subject = intent.Egress, f.from
		}
		decided := c.state.Snapshot.Decide(flow, direction, c.policies(subject, direction))
		for _, by := range decided.By {
			if p := c.state.Snapshot.Policy(by.Policy); p != nil {
				f.Policies = append(f.Policies, p.Origin.Ref().Path())
			}
		}
		// A firewall denies what the policies of the namespace allow.
		if direction == intent.Egress && f.from.firewall != nil && f.to.outside() && (decided.Allowed || f.Effect == Closes) {
			f.Policies = append(f.Policies, f.from.firewall.ref.Path())
		}
	}
	slices.Sort(f.Policies)
	if f.Policies = slices.Compact(f.Policies); f.Policies == nil {
		f.Policies = []string{}
	}
}

// policies lists the policies that select a place of a group.
func (c *comparison) policies(g *group, d intent.Direction) []*intent.Policy {
	if g.policies == nil {
		g.policies = new([2][]*intent.Policy)
		key := g.places[0].Party.Key
		for p := range c.state.Snapshot.Policies() {
			if set := c.state.Snapshot.Set(p.Subject); set != nil && set.Members != nil && set.Members.HasKey(key) {
				g.policies[p.Direction] = append(g.policies[p.Direction], p)
			}
		}
	}
	return g.policies[d]
}
