package intent

import (
	"encoding/binary"
	"iter"
	"net/netip"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// balancers holds the load balancers of a snapshot, and which of them has each frontend.
type balancers struct {
	byID      *iradix.Tree[*LoadBalancer]
	frontends *iradix.Tree[frontendRef]
}

// frontendRef refers to a frontend of a load balancer.
type frontendRef struct {
	id    LoadBalancerID
	index int
}

func newBalancers() balancers {
	return balancers{iradix.New[*LoadBalancer](), iradix.New[frontendRef]()}
}

// frontendKey orders by network, protocol, port and address. The length of the network's name keeps names apart.
func frontendKey(network string, proto Protocol, at netip.AddrPort) []byte {
	key := binary.AppendUvarint(make([]byte, 0, len(network)+24), uint64(len(network)))
	key = append(key, network...)
	key = binary.BigEndian.AppendUint16(append(key, byte(proto)), at.Port())
	return append(key, at.Addr().AsSlice()...)
}

func (lb *LoadBalancer) key(i int) []byte {
	f := &lb.Frontends[i]
	return frontendKey(lb.Network, f.Protocol, netip.AddrPortFrom(f.Addr, f.Port))
}

// balancersTxn makes the successor of balancers.
type balancersTxn struct {
	byID      *iradix.Txn[*LoadBalancer]
	frontends *iradix.Txn[frontendRef]
}

func (b balancers) txn() *balancersTxn { return &balancersTxn{b.byID.Txn(), b.frontends.Txn()} }

func (t *balancersTxn) commit() balancers { return balancers{t.byID.Commit(), t.frontends.Commit()} }

func (t *balancersTxn) put(lb *LoadBalancer) {
	old, _ := t.byID.Insert([]byte(lb.ID), lb)
	if old != nil && sameFrontends(old, lb) {
		return
	}
	t.forget(old)
	for i := range lb.Frontends {
		t.frontends.Insert(lb.key(i), frontendRef{lb.ID, i})
	}
}

func (t *balancersTxn) drop(id LoadBalancerID) bool {
	old, ok := t.byID.Delete([]byte(id))
	if ok {
		t.forget(old)
	}
	return ok
}

// forget removes the frontends of lb, except those that another one has taken over in the meantime.
func (t *balancersTxn) forget(lb *LoadBalancer) {
	if lb == nil {
		return
	}
	for i := range lb.Frontends {
		key := lb.key(i)
		if ref, ok := t.frontends.Get(key); ok && ref.id == lb.ID {
			t.frontends.Delete(key)
		}
	}
}

// sameFrontends reports whether two load balancers have the same frontends in the same places, whatever is behind them.
func sameFrontends(a, b *LoadBalancer) bool {
	if a.Network != b.Network || len(a.Frontends) != len(b.Frontends) {
		return false
	}
	for i := range a.Frontends {
		if a.Frontends[i].Compare(&b.Frontends[i]) != 0 {
			return false
		}
	}
	return true
}

// LoadBalancer finds a load balancer, nil if there is none with that ID.
func (s *Snapshot) LoadBalancer(id LoadBalancerID) *LoadBalancer {
	v, _ := s.balancers.byID.Get([]byte(id))
	return v
}

// LoadBalancers yields every load balancer, ordered by ID.
func (s *Snapshot) LoadBalancers() iter.Seq[*LoadBalancer] { return values(s.balancers.byID) }

// LoadBalancerCount counts the load balancers.
func (s *Snapshot) LoadBalancerCount() int { return s.balancers.byID.Len() }

// Frontend finds the load balancer and frontend for traffic of a network to an address, protocol and port; nil if there
// is none.
func (s *Snapshot) Frontend(network string, proto Protocol, at netip.AddrPort) (*LoadBalancer, *Frontend) {
	ref, ok := s.balancers.frontends.Get(frontendKey(network, proto, at))
	if !ok {
		return nil, nil
	}
	lb := s.LoadBalancer(ref.id)
	return lb, &lb.Frontends[ref.index]
}

// PutLoadBalancer adds a load balancer or rewrites the one of the same ID. When the builder commits, no two may have a
// frontend of one network, address, protocol and port. One may take over a frontend before the other is put without it;
// a builder accepts each load balancer once.
func (b *Builder) PutLoadBalancer(lb *LoadBalancer) {
	b.balancers.put(lb)
	b.change.LoadBalancers = append(b.change.LoadBalancers, lb.ID)
}

// DropLoadBalancer removes a load balancer, if it is there.
func (b *Builder) DropLoadBalancer(id LoadBalancerID) {
	if b.balancers.drop(id) {
		b.change.LoadBalancers = append(b.change.LoadBalancers, id)
	}
}
