package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// balances is the part of the model that is about load balancers: what stands in the database.
type balances struct {
	balancers map[intent.LoadBalancerID]*balancer
	members   map[place]map[string]bool    // the rows of each place that has any, by UUID
	vars      map[string]map[string]string // our template variables by chassis, where there are any
	hosts     nb.Rows                      // what of ours switches and routers refer to, by UUID
	bars      nb.Rows                      // the ACLs on switches, by UUID
	homeless  map[place]bool               // places with rows that no switch and no router is in
	topology  uint64                       // the version that hosts are of

	nodal    map[intent.LoadBalancerID]bool // those that depend on nodes
	barred   map[intent.LoadBalancerID]bool // those that deny sources
	networks map[string]int                 // how many there are in each network

	// What belongs to others, as of the last read-back.
	foreign map[vip]string    // VIPs and the names of their rows
	taken   map[string]bool   // names of groups
	chassis map[string]string // the rows of template variables by chassis
}

func newBalances() *balances {
	return &balances{
		balancers: map[intent.LoadBalancerID]*balancer{}, members: map[place]map[string]bool{},
		vars: map[string]map[string]string{}, hosts: nb.Rows{}, bars: nb.Rows{},
		nodal: map[intent.LoadBalancerID]bool{}, barred: map[intent.LoadBalancerID]bool{}, networks: map[string]int{},
	}
}

// put takes note of what a load balancer was rendered to; nil takes it out.
func (m *balances) put(id intent.LoadBalancerID, b *balancer) {
	if old := m.balancers[id]; old != nil {
		if m.networks[old.network]--; m.networks[old.network] == 0 {
			delete(m.networks, old.network)
		}
	}
	if b == nil {
		delete(m.balancers, id)
	} else {
		m.balancers[id] = b
		m.networks[b.network]++
	}
	mark(m.nodal, id, b != nil && b.nodal)
	mark(m.barred, id, b != nil && b.barred)
}

func mark[K comparable](set map[K]bool, k K, in bool) {
	if in {
		set[k] = true
		return
	}
	delete(set, k)
}

// move brings the members of places to where a plan led.
func (m *balances) move(joined, left map[place]map[string]bool) {
	for p, uuids := range left {
		for uuid := range uuids {
			delete(m.members[p], uuid)
		}
		if len(m.members[p]) == 0 {
			delete(m.members, p)
		}
	}
	for p, uuids := range joined {
		if m.members[p] == nil {
			m.members[p] = map[string]bool{}
		}
		maps.Copy(m.members[p], uuids)
	}
}

// size is how many rows are ours.
func (m *balances) size(r *renderer) int {
	n := len(m.bars)
	for p, uuids := range m.members {
		n += len(uuids)
		if r.grouped(p) {
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

// barsOf lists the ACLs of each network, in order.
func barsOf(balancers map[intent.LoadBalancerID]*balancer, barred map[intent.LoadBalancerID]bool) (map[string][]string, nb.Rows) {
	uuids, rows := map[string][]string{}, nb.Rows{}
	for id := range barred {
		b := balancers[id]
		if b == nil {
			continue
		}
		for uuid, acl := range b.bars {
			uuids[b.network] = append(uuids[b.network], uuid)
			rows[uuid] = acl
		}
	}
	for network := range uuids {
		slices.Sort(uuids[network])
	}
	return uuids, rows
}
