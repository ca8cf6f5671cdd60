package ovn

import (
	"context"

	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// loadBalancers reads what plans for load balancers depend on.
type loadBalancers struct {
	names    nb.Namer
	settings lb.Settings
	topology *lb.Topology // nil before it is first read
}

// target returns a database as load balancers are written to it.
func (b *loadBalancers) target(db *database) *lb.Target {
	return &lb.Target{Names: b.names, Schema: db.schema, Settings: b.settings}
}

// planAll plans all load balancers from a read-back.
func (b *loadBalancers) planAll(ctx context.Context, db *database, want *intent.Snapshot) (*lb.FullPlan, error) {
	rows, err := db.read(ctx, nil, nb.LoadBalancerTables()...)
	if err != nil {
		return nil, err
	}
	t := b.target(db)
	b.topology = nil // a port that was moved to another router is not reported
	if err := b.look(ctx, db.client, t.NeedsLinks(want)); err != nil {
		return nil, err
	}
	return t.PlanAll(want, t.Find(rows), b.topology), nil
}

// readReferences reads our rows that switches and routers refer to, if they can refer to any. Others are our rows
// for policies.
func readReferences(ctx context.Context, db *database, p *lb.FullPlan, others nb.Rows) error {
	if !p.NeedsReferences(others) {
		return nil
	}
	rows, err := db.read(ctx, nil, nb.TableSwitch, nb.TableRouter)
	if err == nil {
		p.SetReferences(rows, others)
	}
	return err
}

// plan plans load balancers only from changes; nil if there is nothing to do.
func (b *loadBalancers) plan(
	ctx context.Context, db *database, want *intent.Snapshot, m *lb.Model, changes []intent.Change,
) (*lb.Plan, error) {
	ids := m.Affected(changes)
	if len(ids) == 0 && m.Empty() {
		return nil, nil
	}
	if err := b.look(ctx, db.client, m.NeedsLinks(want, ids)); err != nil {
		return nil, err
	}
	p := m.Plan(want, b.topology, ids)
	if p == nil || !p.NeedsVars() {
		return p, nil
	}
	rows, err := db.read(ctx, nil, nb.TableTemplateVars)
	if err != nil {
		return nil, err
	}
	p.SetVars(rows)
	return p, nil
}

// look reads what load balancers can be put on now. Links between switches and routers are expensive to find.
func (b *loadBalancers) look(ctx context.Context, client *ovsdb.Client, links bool) error {
	version := client.TopologyVersion()
	if t := b.topology; t != nil && t.Version == version && (t.Linked || !links) {
		return nil
	}
	t := &lb.Topology{Version: version, Switches: client.Switches(), Routers: client.Routers(), Linked: links}
	var err error
	if t.Uplinks, err = client.Uplinks(ctx); err != nil {
		return err
	}
	if links {
		if t.Links, err = client.Links(ctx); err != nil {
			return err
		}
	}
	b.topology = t
	return nil
}
