package ovn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// ChangedByOthers implements backends.Watcher.
func (b *Backend) ChangedByOthers() bool { return b.watch.check(b.model) }

// Foreign implements backends.Watcher.
func (b *Backend) Foreign() *backends.Foreign {
	if !b.ChangedByOthers() {
		return nil
	}
	f := &backends.Foreign{All: len(b.watch.touched), Unknown: b.watch.unknown}
	if b.model == nil {
		f.Unknown = true
		return f
	}
	f.Opened = func() backends.Gaps { return b.model.openedBy(b.names, b.watch.touched) }
	if f.Unknown {
		return f
	}
	rows := b.model.rowsOf(b.renderer(b.model.snapshot, b.client.Schema(), b.model.unavailable), b.watch.touched)
	for uuid, t := range b.watch.touched {
		o := backends.ForeignObject{Kind: t.table, Name: uuid}
		if row := rows[uuid]; row != nil {
			o.Name, o.For = cmp.Or(row.Name, uuid), row.Origin
		}
		if !t.gone {
			o.Fields = slices.Sorted(maps.Keys(t.columns))
		}
		f.Objects = append(f.Objects, o)
	}
	f.Sort()
	f.Concerns = b.model.concerned(rows, b.watch.touched)
	return f
}

// Repair implements backends.Watcher: it reads the rows that others changed and compares them with what the model has. Ports that are kept
// for unknown pods are not in the model, nor are load balancers that are kept; with them everything is read back.
func (b *Backend) Repair(ctx context.Context) (*backends.Plan, error) {
	m, rows := b.model, maps.Clone(b.watch.touched)
	if b.watch.unknown || m == nil || m.epoch != b.client.Epoch() || !m.keptRows.allow(b.keep) || m.coverage.now.Held > 0 {
		return &backends.Plan{Resync: true}, nil
	}
	db := b.database()
	r := b.renderer(m.snapshot, db.schema, m.unavailable)
	want := m.rowsOf(r, rows)
	if m.unavailable != nil && missing(rows, want) {
		return &backends.Plan{Resync: true}, nil // it may belong to a load balancer
	}
	tables := map[string]string{}
	for uuid, t := range rows {
		tables[uuid] = t.table
	}
	for uuid, row := range want {
		tables[uuid] = row.Table
	}
	have, err := db.readRows(ctx, tables)
	if err != nil {
		return nil, fmt.Errorf("plan a repair: %w", err)
	}
	names := nb.Names(have, want)
	ops := m.loadBalancers.Repair(want, have)
	maps.DeleteFunc(have, func(uuid string, h *nb.Row) bool { return want[uuid] == nil && h.Owner() != db.owner })
	ops = append(ops, nb.Diff(want, have)...)

	nb.Sort(ops)
	plan := &backends.Plan{Revision: m.snapshot.Revision(), Owned: m.size(), Ops: show(arrange(ops, false), m.ports, names)}
	b.await(plan, func() { b.watch.settle(rows) })
	return plan, nil
}

// tableConnection has the connections that the database accepts or makes (ovn-nb(5), NB_Global.connections).
const tableConnection = "Connection"

// Writers implements backends.Watcher: it reads the database's own list of connections. Of a listener for several clients it says how
// many there are, as of some seconds ago. It is empty if the listeners were configured on the command line of the server.
func (b *Backend) Writers(ctx context.Context) string {
	if !b.client.Schema().Has(tableConnection) {
		return ""
	}
	rows, err := b.client.Select(ctx, tableConnection, nil, "target", "status")
	if err != nil {
		return ""
	}
	var out []string
	for _, row := range rows {
		text := ovsdb.String(row["target"])
		if n := ovsdb.StringMap(row["status"])["n_connections"]; n != "" {
			text += " (" + n + " clients)"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// rowsOf returns what the target has under the UUIDs of some rows, as of the last plan that was applied, and for rows that are
// gone also those that referred to them. The rows of logical ports are as they are now.
func (m *model) rowsOf(r *renderer, touched map[string]*touched) nb.Rows {
	uuids, gone := map[string]bool{}, map[string]bool{}
	for uuid, t := range touched {
		uuids[uuid] = true
		if t.gone {
			gone[uuid] = true
		}
	}
	out := m.loadBalancers.Rows(uuids, gone)
	for subject, g := range m.groups {
		pg := m.row(portGroupRef(subject), r)
		again := uuids[pg.UUID]
		for uuid, acl := range nb.Among(g.acls, uuids) {
			out.Put(acl)
			again = again || gone[uuid]
		}
		if again {
			out.Put(r.portGroup(subject, slices.Sorted(maps.Keys(g.acls)), m.ports.cover(r.want.Set(subject), m.memberships)))
		}
	}
	for home, notes := range m.notes {
		if uuids[r.bareNotes(home).UUID] {
			out.Put(r.notes(home, notes))
		}
	}
	for ref := range m.peers {
		if uuids[m.row(ref, r).UUID] {
			out.Put(r.addressSet(ref))
		}
	}
	for ref, b := range m.ahead.without(m.peers) {
		if row := r.aheadSet(ref, b); uuids[row.UUID] {
			out.Put(row)
		}
	}
	for rate := range m.meters {
		for _, row := range r.meter(rate) {
			if uuids[row.UUID] {
				out.Put(r.meter(rate)...)
				break
			}
		}
	}
	m.keptRows.replace(out, uuids, gone)
	return out
}

// concerned returns whether changes of some rows concern the policies of an origin. Rows without a policy concern all of them:
// those of everything that is isolated, and rows that the model does not have.
func (m *model) concerned(rows nb.Rows, touched map[string]*touched) func(origin string) bool {
	origins, all := map[string]bool{}, false
	subject := func(id intent.SetID) {
		all = all || slices.Contains(gathered(), id)
		g := m.groups[id]
		if g == nil {
			return
		}
		for _, p := range g.pieces {
			if p.policy != nil {
				origins[p.policy.Origin.String()] = true
			}
		}
		for policy := range g.sharers {
			origins[m.policies[policy].Origin.String()] = true
		}
	}
	for uuid, t := range touched {
		switch row := rows[uuid]; {
		case row == nil:
			all = true
		case t.table == nb.TablePortGroup:
			subject(intent.SetID(row.ExternalIDs()[nb.KeyID]))
		case t.table == nb.TableACL:
			for id, g := range m.groups {
				if g.acls[uuid] != nil {
					subject(id)
				}
			}
		case t.table == nb.TableAddressSet:
			peer := intent.SetID(row.ExternalIDs()[nb.KeyID])
			for id, g := range m.groups {
				if g.peers[addressSetRef{peer, intent.IPv4}]+g.peers[addressSetRef{peer, intent.IPv6}] > 0 {
					subject(id)
				}
			}
		}
	}
	return func(origin string) bool { return all || origins[origin] }
}
