package lb

import (
	"maps"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// attachments are the references of switches and routers to our rows.
type attachments struct {
	references nb.Rows        // rows of others, with only the references in them
	acls       nb.Rows        // those that are referred to
	unattached map[place]bool // places with rows to which no switch or router belongs
	version    uint64         // of the topology that this is for
}

// in returns the attachments of switches and routers that still exist. References of the others disappeared with them.
func (a *attachments) in(t *Topology) attachments {
	out := attachments{references: nb.Rows{}, acls: nb.Rows{}}
	for _, list := range [][]ovsdb.Datapath{t.Switches, t.Routers} {
		for i := range list {
			host := a.references[list[i].UUID]
			if host == nil {
				continue
			}
			out.references.Put(host)
			for _, uuid := range host.Sets[nb.ColumnACLs] {
				out.acls[uuid] = a.acls[uuid]
			}
		}
	}
	return out
}

// Model is what the database has for load balancers, as of the last plan that was applied. The zero value describes a database whose load
// balancers are not known.
type Model struct {
	groups // those of others, as of the last read-back
	attachments

	renderings map[intent.LoadBalancerID]*rendering
	members    map[place]map[string]bool    // the rows of each place that has any, by UUID
	vars       map[string]map[string]string // our template variables by chassis, if there are any

	nodal      map[intent.LoadBalancerID]bool // those that depend on nodes
	restricted map[intent.LoadBalancerID]bool // those that deny sources
	networks   map[string]int                 // how many there are in each network

	// What belongs to others, as of the last read-back.
	foreign map[vip]string    // VIPs and the names of their rows
	chassis map[string]string // the rows of template variables by chassis
}

func newModel(g groups) *Model {
	return &Model{
		groups: g, attachments: attachments{references: nb.Rows{}, acls: nb.Rows{}},
		renderings: map[intent.LoadBalancerID]*rendering{}, members: map[place]map[string]bool{},
		vars: map[string]map[string]string{}, nodal: map[intent.LoadBalancerID]bool{},
		restricted: map[intent.LoadBalancerID]bool{}, networks: map[string]int{},
	}
}

// put sets what a load balancer was rendered to; nil removes it.
func (m *Model) put(id intent.LoadBalancerID, b *rendering) {
	if old := m.renderings[id]; old != nil {
		if m.networks[old.network]--; m.networks[old.network] == 0 {
			delete(m.networks, old.network)
		}
	}
	for _, of := range []map[intent.LoadBalancerID]bool{m.nodal, m.restricted} {
		delete(of, id)
	}
	if b == nil {
		delete(m.renderings, id)
		return
	}
	m.renderings[id] = b
	m.networks[b.network]++
	if b.nodal {
		m.nodal[id] = true
	}
	if b.restricted {
		m.restricted[id] = true
	}
}

// move adds members to places and removes others.
func (m *Model) move(joined, left map[place]map[string]bool) {
	for p, uuids := range left {
		for uuid := range uuids {
			delete(m.members[p], uuid)
		}
		if len(m.members[p]) == 0 {
			delete(m.members, p)
		}
	}
	for p, uuids := range joined {
		maps.Copy(within(m.members, p), uuids)
	}
}

// Empty reports whether there are no load balancers.
func (m *Model) Empty() bool { return len(m.renderings) == 0 }

// Size returns how many rows are ours.
func (m *Model) Size() int {
	n := len(m.acls)
	for p, uuids := range m.members {
		n += len(uuids)
		if m.grouped(p) {
			n++
		}
	}
	for chassis := range m.vars {
		if m.chassis[chassis] == "" {
			n++
		}
	}
	return n
}

// Owns reports whether a row that switches and routers may refer to is ours.
func (m *Model) Owns(uuid string) bool {
	for _, rows := range m.members {
		if rows[uuid] {
			return true
		}
	}
	return m.acls[uuid] != nil || m.OwnsGroup(uuid)
}

// OwnsGroup reports whether a load balancer group is ours.
func (m *Model) OwnsGroup(uuid string) bool {
	for at := range m.members {
		if m.grouped(at) && m.group(at, nil).UUID == uuid {
			return true
		}
	}
	return false
}

// rowsOf returns the rows of one load balancer.
func (m *Model) rowsOf(id intent.LoadBalancerID) map[string]placed {
	if b := m.renderings[id]; b != nil {
		return b.rows
	}
	return nil
}
