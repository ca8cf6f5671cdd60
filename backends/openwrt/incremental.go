package openwrt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
)

// changesSince returns what has to be compared if the model is known. It returns false if everything has to be read
// back: the device may have lost everything between two runs.
func (b *Backend) changesSince(want *intent.Snapshot, since intent.Revision, g *intent.CNF) ([]intent.Change, bool) {
	m := b.model
	if m == nil || m.snapshot.Revision() != since || m.run != g.Run || m.scope != g.Scope {
		return nil, false
	}
	return want.ChangesFrom(m.snapshot), true
}

// planChanges compares what changed with the model. It does not query the device. If no change affects it, nothing is rendered either.
func (b *Backend) planChanges(
	ctx context.Context, want *intent.Snapshot, g *intent.CNF, changes []intent.Change,
) (*backends.Plan, error) {
	m := b.model
	t := m.touched(want, g, changes, func(p *intent.Policy) bool { return b.enforces(p, g) })
	t.resources = t.resources || m.guard != b.guards(m) // what was kept no longer is
	if !t.resources && !t.policies {
		m.snapshot = want
		return &backends.Plan{Revision: want.Revision()}, nil
	}
	next := *m
	if t.policies {
		next.enforced = b.enforced(want, g)
		t.resources = t.resources || m.guard != b.guards(&next) // no rule accepts what policies deny
	}
	if t.resources {
		last := m.resources
		if !maps.Equal(m.networks, g.Networks) || m.guard != b.guards(&next) {
			last = nil
		}
		if err := b.renderResources(ctx, &next, want, g, last); err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
	}
	if t.policies || len(m.enforced) > 0 && !slices.Equal(m.resources.Zones(), next.resources.Zones()) {
		next.policies = render.Policies(want, next.enforced, next.resources, next.have.Zones, b.names)
	}
	if t.resources && adopts(m.resources, next.resources, m.have, b.names) {
		b.model = nil // an adopted object was not read back, or belongs to others again
		return &backends.Plan{Revision: want.Revision(), Resync: true}, nil
	}
	plan := b.compare(&next, want, nil)
	if forgets(m.skips, plan.Skips, changes) {
		b.model = nil // a plan of changes does not notice that an unchanged intent is no longer skipped
		return &backends.Plan{Revision: want.Revision(), Resync: true}, nil
	}
	return b.propose(plan, &next), nil
}

// touched is which parts of the desired state are affected by changes.
type touched struct{ resources, policies bool }

func (m *model) touched(
	want *intent.Snapshot, g *intent.CNF, changes []intent.Change, enforces func(*intent.Policy) bool,
) touched {
	t := touched{resources: !maps.Equal(m.networks, g.Networks)}
	prefix := g.Scope.String() + "/"
	set := func(id intent.SetID) {
		t.resources = t.resources || m.resources.Sets[id]
		t.policies = t.policies || m.policies.Sets[id]
	}
	for i := range changes {
		c := &changes[i]
		t.resources = t.resources || c.Unknown || slices.ContainsFunc(c.DeviceIntents, func(id intent.DeviceIntentID) bool {
			return strings.HasPrefix(string(id), prefix)
		})
		t.policies = t.policies || c.Families && len(m.enforced) > 0
		for _, id := range c.Policies {
			p := want.Policy(id)
			was := slices.ContainsFunc(m.enforced, func(old *intent.Policy) bool { return old.ID == id })
			t.policies = t.policies || was || p != nil && enforces(p)
		}
		for _, id := range c.Sets {
			set(id)
		}
		for j := range c.Members {
			set(c.Members[j].ID)
		}
	}
	return t
}

// adopts reports whether next refers to an object made by hand that last did not refer to and that is not in h, or no
// longer refers to one that is.
func adopts(last, next *render.Desired, h *device.Inventory, names section.Namer) bool {
	comes := func(k section.Key) bool {
		return !names.Mine(k.Kind, k.Name) && h.Objects[k] == nil && !last.Mentions(k)
	}
	for k := range next.Objects {
		if comes(k) {
			return true
		}
	}
	for k := range next.Keep {
		if comes(k) {
			return true
		}
	}
	for k := range next.Gone {
		if comes(k) {
			return true
		}
	}
	for k := range h.Objects {
		if !names.Mine(k.Kind, k.Name) && !next.Mentions(k) {
			return true
		}
	}
	return false
}

// forgets reports whether an intent is no longer skipped although, according to changes, it did not change.
func forgets(before, now []backends.Skip, changes []intent.Change) bool {
	listed := map[string]bool{}
	for _, s := range now {
		listed[s.Intent] = true
	}
	for i := range changes {
		for _, id := range changes[i].DeviceIntents {
			listed[string(id)] = true
		}
		for _, id := range changes[i].Policies {
			listed[string(id)] = true
		}
	}
	return slices.ContainsFunc(before, func(s backends.Skip) bool { return !listed[s.Intent] })
}
