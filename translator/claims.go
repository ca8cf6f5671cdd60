package translator

import (
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// claim is what one service of a network only can have, and one of the cluster where it is a cluster IP or a node port.
type claim struct {
	addr     netip.Addr
	protocol intent.Protocol
	port     uint16
}

func claimOf(f *intent.Frontend) claim { return claim{f.Addr, f.Protocol, f.Port} }

// onceOnly says whether the cluster has a frontend of f's kind once, whatever networks there are: who may make a Service
// in a network of its own takes no other's cluster IP.
func onceOnly(f *intent.Frontend) bool {
	return f.Kind == intent.ClusterAddress || f.Kind == intent.NodePort
}

// claims lists for each claim who makes it, the one who has it first.
type claims map[claim][]*service

// before says whether s has what both claim: it is older. One whose age is unknown is younger than any; of equals, the
// first by name.
func (s *service) before(o *service) bool {
	a, b := &s.created, &o.created
	switch {
	case a.IsZero() != b.IsZero():
		return b.IsZero()
	case !a.Equal(b):
		return a.Before(b)
	default:
		return s.key.compare(o.key) < 0
	}
}

// replace makes the claims of s those of s.wanted instead of those of was, as of one created then. It returns the
// others that have claims which s gave up or made.
func (c claims) replace(s *service, was *intent.LoadBalancer, created metav1.Time) []*service {
	now := s.wanted
	var rivals []*service
	if was != nil && now != nil && was.Network == now.Network && s.created.Equal(&created) {
		c.difference(was, now, func(gone, came *intent.Frontend) {
			if gone != nil {
				rivals = append(rivals, c.withdraw(s, claimOf(gone))...)
			} else {
				rivals = append(rivals, c.enter(s, claimOf(came))...)
			}
		})
		return rivals
	}
	if was != nil {
		for i := range was.Frontends {
			rivals = append(rivals, c.withdraw(s, claimOf(&was.Frontends[i]))...)
		}
	}
	s.created = created
	if now != nil {
		for i := range now.Frontends {
			rivals = append(rivals, c.enter(s, claimOf(&now.Frontends[i]))...)
		}
	}
	return rivals
}

// difference visits the frontends that only one of two load balancers has, or has as one that the cluster has once.
func (claims) difference(was, now *intent.LoadBalancer, visit func(gone, came *intent.Frontend)) {
	a, b := was.Frontends, now.Frontends
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Compare(&b[0]) < 0:
			visit(&a[0], nil)
			a = a[1:]
		case len(a) == 0 || a[0].Compare(&b[0]) > 0:
			visit(nil, &b[0])
			b = b[1:]
		default:
			if onceOnly(&a[0]) != onceOnly(&b[0]) {
				visit(&a[0], nil)
				visit(nil, &b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
}

// holder is who has a claim of s: s itself, or an older service that has it and leaves nothing for s.
func (c claims) holder(s *service, key claim) *service {
	var holders []*service
	for _, r := range c[key] {
		own := r.frontend(key)
		at := slices.IndexFunc(holders, func(h *service) bool {
			return h.wanted.Network == r.wanted.Network || onceOnly(own) || onceOnly(h.frontend(key))
		})
		switch {
		case at < 0 && r == s:
			return s
		case at < 0:
			holders = append(holders, r)
		case r == s:
			return holders[at]
		}
	}
	return s
}

// frontend is the one with which s makes a claim.
func (s *service) frontend(key claim) *intent.Frontend {
	f := intent.Frontend{Addr: key.addr, Protocol: key.protocol, Port: key.port}
	i, _ := slices.BinarySearchFunc(s.wanted.Frontends, f, func(a, b intent.Frontend) int { return a.Compare(&b) })
	return &s.wanted.Frontends[i]
}

// enter makes a claim for s and returns the others that make it.
func (c claims) enter(s *service, key claim) []*service {
	rivals := c[key]
	i := 0
	for i < len(rivals) && rivals[i].before(s) {
		i++
	}
	c[key] = slices.Insert(slices.Clone(rivals), i, s)
	return rivals
}

// withdraw takes a claim of s back and returns the others that make it.
func (c claims) withdraw(s *service, key claim) []*service {
	rivals := slices.DeleteFunc(slices.Clone(c[key]), func(o *service) bool { return o == s })
	if len(rivals) == 0 {
		delete(c, key)
		return nil
	}
	c[key] = rivals
	return rivals
}

// settle is what s wanted without the frontends that an older service has, nil when nothing is left, and a problem for
// each of those.
func (c claims) settle(s *service) (*intent.LoadBalancer, []Problem) {
	if s.wanted == nil {
		return nil, nil
	}
	lost := problems{of: s.wanted.Origin}
	wanted := s.wanted.Frontends
	won, intact := wanted, true
	for i := range wanted {
		f := &wanted[i]
		holder := c.holder(s, claimOf(f))
		switch {
		case holder != s && intact:
			won, intact = slices.Clone(wanted[:i]), false
		case holder == s && !intact:
			won = append(won, *f)
		}
		if holder == s {
			continue
		}
		field, what := f.Path, f.String()
		if f.Kind == intent.NodePort { // one fault, not one for each node
			field, what = f.Path+".nodePort", intent.PortRange{Protocol: f.Protocol, First: f.Port, Last: f.Port}.String()
		}
		lost.addOnce(field, "%s belongs to %s, which came first; the frontend is left out", what, holder.wanted.Origin)
	}
	switch {
	case intact:
		return s.wanted, nil
	case len(won) == 0:
		return nil, lost.list
	default:
		lb := *s.wanted
		lb.Frontends = won
		return &lb, lost.list
	}
}
