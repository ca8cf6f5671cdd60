package tungsten

import (
	"cmp"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// balance renders the load balancers of a model.
func (b *Backend) balance(want *intent.Snapshot, m *model) {
	r := &balancers{names: b.names, network: b.network, missing: m.missing, barred: b.barred, ports: m.ports, addresses: m.addresses}
	if m.missing != "" {
		r.network = nil
	}
	r.render(want)
	m.balancers, m.unserved = r.objects, r.skips
}

// compare compares everything.
func (b *Backend) compare(
	plan *backends.Plan, c *comparison, next *model, again func(*backends.Plan, []*tungsten.Object) error,
) error {
	all := next.ports.sorted()
	c.live.findBasic(c.names, c.have, c.want)
	c.live.findIsolated(c.names, all, next.tags)
	if err := c.objects(); err != nil {
		return err
	}
	c.interfaces(all, next.tags)
	return b.propose(plan, c, next, nil, again)
}

// propose orders the ops and remembers their effect. Tags are those that changed of next; nil if next has them already.
func (b *Backend) propose(
	plan *backends.Plan, c *comparison, next *model, tags wanted, again func(*backends.Plan, []*tungsten.Object) error,
) error {
	c.ports, c.tags, c.changed = next.ports, next.tags, tags
	opening := c.live.opensFirst(c.names, c.usages())
	if err := c.regroups(opening); err != nil {
		return err
	}
	plan.Ops = b.arrange(c.ops, opening)
	b.pending = &pending{plan: plan, closesFirst: !opening, again: again, made: c, commit: func() {
		for _, m := range c.moves {
			if m.gain {
				m.port.tags[m.tag] = true
			} else {
				delete(m.port.tags, m.tag)
			}
		}
		for k, bare := range c.bare {
			if delete(next.rendering.bare, k); bare {
				next.rendering.bare[k] = true
			}
		}
		for k, of := range tags {
			if next.tags[k] = of; len(of) == 0 {
				delete(next.tags, k)
			}
		}
		b.model = next
	}}
	if plan.Empty() {
		b.pending.commit()
		b.pending, b.refused = nil, nil
	}
	return nil
}

// arrange orders ops by phase, each a request of its own.
func (b *Backend) arrange(ops []planned, opening bool) []backends.Op {
	order := closeFirst()
	if opening {
		order = openFirst()
	}
	rank := map[phase]int{}
	for i, p := range order {
		rank[p] = i + 1
	}
	ops = slices.DeleteFunc(ops, func(o planned) bool { return rank[o.phase] == 0 })
	slices.SortStableFunc(ops, func(a, b planned) int {
		return cmp.Or(
			cmp.Compare(rank[a.phase], rank[b.phase]), cmp.Compare(a.op.Kind, b.op.Kind), cmp.Compare(a.op.Name, b.op.Name),
		)
	})
	out := make([]backends.Op, 0, len(ops))
	for i := range ops {
		ops[i].op.Group = i
		if w, ok := ops[i].op.Native.(write); ok {
			w.phase = ops[i].phase
			_, ops[i].op.Again = b.refused[w.key()]
			ops[i].op.Again = ops[i].op.Again || w.probe
			ops[i].op.Native = w
		}
		out = append(out, ops[i].op)
	}
	return out
}
