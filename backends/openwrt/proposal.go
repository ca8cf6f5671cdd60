package openwrt

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// compare makes a plan for what m asks for. A full one is made from read-back, and retries what the device rejected; repairs
// adds to it what read-back found in the kernel. It is nil for a plan of changes.
func (b *Backend) compare(m *model, want *intent.Snapshot, repairs func(*compare.Comparison)) *backends.Plan {
	full := repairs != nil
	all := render.NewDesired()
	all.Keep, all.Gone, all.Retain, all.Present = m.resources.Keep, m.resources.Gone, m.resources.Retain, m.resources.Present
	maps.Copy(all.Objects, m.resources.Objects)
	maps.Copy(all.Objects, m.policies.Objects)
	owed := b.owed(m.have)
	c := &compare.Comparison{Want: all, Have: m.have, Names: b.names, Refused: b.refused, Seals: b.seals, Owed: owed}
	if full {
		c.Refused = nil
	}
	c.Diff(b.keep)
	if full {
		repairs(c)
		c.Order()
	}
	run := &pending{model: m, wrote: map[string]bool{}, left: map[string]bool{}}
	again := map[section.Key]bool{} // what was rejected, and what needs it
	for i := range c.Ops {
		s := compare.StepOf(&c.Ops[i])
		r, refused := b.refused[s.Key]
		if refused && full {
			c.Skips = append(c.Skips, backends.Skip{Intent: s.Intent, Reason: r.Reason})
		}
		again[s.Key] = m.rotated && s.Key.Kind == openwrt.Remotes || full && (refused || s.Want != nil && slices.ContainsFunc(s.Want.Needs, func(k section.Key) bool { return again[k] }))
		c.Ops[i].Again = c.Ops[i].Again || again[s.Key]
	}
	plan := &backends.Plan{Revision: want.Revision(), Full: full, Owned: len(m.have.Objects), Ops: compare.InOrderWith(c.Ops, b.reloads(c.Ops, owed))}
	for i := range plan.Ops {
		plan.Ops[i].Group = i // nothing on the device is a transaction
	}
	if full {
		c.Describe(plan)
	}
	plan.Skips = compare.InOrder(slices.Concat(m.resources.Skips, m.policies.Skips, c.Skips, m.have.Skips(), compare.AbsentSkips(m.have, all, c.Ops...), b.memory.Skips(all)))
	m.snapshot, m.skips = want, plan.Skips
	run.bind(plan)
	return plan
}

// owed returns the services for which something was written without a reload, as a note or this process remembers.
func (b *Backend) owed(have *device.Inventory) map[string]bool {
	out := map[string]bool{}
	for _, kind := range openwrt.Kinds() {
		s := kind.Service()
		out[s] = have.Notes[b.names.Pending(s)] || b.owes[s]
	}
	return out
}

// reloads lists the services that have to be reloaded: those for which something is written, and those that are owed a reload.
func (b *Backend) reloads(ops []backends.Op, owed map[string]bool) []backends.Op {
	services := map[string]bool{}
	for i := range ops {
		services[compare.StepOf(&ops[i]).Service()] = true
	}
	var out []backends.Op
	seen := map[string]bool{"": true}
	for _, kind := range openwrt.Kinds() {
		s := kind.Service()
		if seen[s] || !services[s] && !owed[s] {
			continue
		}
		seen[s] = true
		out = append(out, backends.Op{
			Verb: backends.Reload, Kind: "service", Name: s, After: backends.Fields{"action": string(openwrt.Reload)},
			Native: &compare.Step{
				Stage: compare.Reload, Key: section.Key{Name: s}, Must: owed[s], Paused: b.pausing(s),
				Last: s == openwrt.Remotes.Service() && (b.losesTunnels || slices.ContainsFunc(ops, deletesTunnel)),
			},
		})
	}
	return out
}

func deletesTunnel(op backends.Op) bool {
	return op.Verb == backends.Delete && compare.StepOf(&op).Key.Kind == openwrt.Remotes
}

// propose remembers what a plan would turn the model into. A plan without ops takes effect at once.
func (b *Backend) propose(plan *backends.Plan, next *model) *backends.Plan {
	b.pending = nil
	if plan.Empty() {
		b.model = next
		return plan
	}
	b.pending = taskOf(&plan.Ops[0]).run
	return plan
}
