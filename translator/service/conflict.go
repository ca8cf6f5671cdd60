package service

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/owner"
)

// place is an address and port that only one service of a network can own, or only one of the cluster if it is a cluster IP or a node port.
type place struct {
	addr     netip.Addr
	protocol intent.Protocol
	port     uint16
}

func placeOf(f *intent.Frontend) place { return place{f.Addr, f.Protocol, f.Port} }

// onceOnly reports whether a frontend of f's kind is unique in the cluster, whatever its network: a Service in a
// network of its own must not take the cluster IP of another.
func onceOnly(f *intent.Frontend) bool {
	return f.Kind == intent.ClusterAddress || f.Kind == intent.NodePort
}

// owners lists for each place the services that request it, its owner first.
type owners struct {
	*owner.Table[place, *service]
}

func newOwners() owners { return owners{owner.NewTable[place](olderFirst)} }

// olderFirst puts the older of two services first: it owns what both request. A service of unknown age is younger than any other; of
// equals, the first by name comes first. A Service always comes before a ServiceImport: the API server gives each of its addresses to only
// one Service.
func olderFirst(s, o *service) int {
	return cmp.Or(strings.Compare(s.ref.Kind, o.ref.Kind), owner.CompareAge(s.created, o.created), s.ref.Compare(o.ref))
}

// contested are places that several services request, now or before.
type contested map[place]bool

// replace makes s request the places of s.wanted instead of those of was, with this creation time. In contested, it records those that s
// gave up or newly requests and that others request too.
func (c owners) replace(s *service, was *intent.LoadBalancer, created metav1.Time, among contested) {
	leave := func(f *intent.Frontend) {
		if key := placeOf(f); c.Remove(key, s) {
			among[key] = true
		}
	}
	ask := func(f *intent.Frontend) {
		if key := placeOf(f); c.Add(key, s) {
			among[key] = true
		}
	}
	now := s.wanted
	if was != nil && now != nil && was.Network == now.Network && s.created.Equal(&created) {
		c.difference(was, now, func(gone, came *intent.Frontend) {
			if gone != nil {
				leave(gone)
			} else {
				ask(came)
			}
		})
		return
	}
	if was != nil {
		for i := range was.Frontends {
			leave(&was.Frontends[i])
		}
	}
	s.created = created
	if now != nil {
		for i := range now.Frontends {
			ask(&now.Frontends[i])
		}
	}
}

// difference visits the frontends that only one of two load balancers has, or that are unique in the cluster in only
// one of them.
func (owners) difference(was, now *intent.LoadBalancer, visit func(gone, came *intent.Frontend)) {
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

// standing is the ownership of a place that several services request. If the first of them needs it cluster-wide, it owns the place
// everywhere; otherwise each network has an owner.
type standing struct {
	first     *service
	once      bool                // the first owns the place in every network
	byNetwork map[string]*service // unless once
}

// standings are those of places, each computed when it is needed: a place that n services request costs n, not n for each of them.
type standings map[place]standing

// of returns who owns a place.
func (d standings) of(key place, asking []*service) standing {
	if known, ok := d[key]; ok {
		return known
	}
	out := standing{first: asking[0], once: onceOnly(asking[0].frontend(key))}
	if !out.once {
		out.byNetwork = map[string]*service{}
		for _, s := range asking {
			if out.byNetwork[s.wanted.Network] == nil && !onceOnly(s.frontend(key)) {
				out.byNetwork[s.wanted.Network] = s
			}
		}
	}
	d[key] = out
	return out
}

// owner returns the owner of the place that s requests with a frontend: s itself, or an older service.
func (c owners) owner(s *service, f *intent.Frontend, known standings) *service {
	key := placeOf(f)
	asking := c.All(key)
	if len(asking) == 1 {
		return s
	}
	now := known.of(key, asking)
	if now.once || onceOnly(f) {
		return now.first
	}
	return now.byNetwork[s.wanted.Network]
}

// frontend returns the frontend with which s requests a place.
func (s *service) frontend(key place) *intent.Frontend {
	f := intent.Frontend{Addr: key.addr, Protocol: key.protocol, Port: key.port}
	i, _ := slices.BinarySearchFunc(s.wanted.Frontends, f, func(a, b intent.Frontend) int { return a.Compare(&b) })
	return &s.wanted.Frontends[i]
}

// settle returns what s wanted without the frontends that an older service has, nil if nothing is left, and a problem
// for each of those. A Service beyond its budget gets nothing, and keeps what it owns.
func (c owners) settle(s *service, known standings) (*intent.LoadBalancer, []object.Problem) {
	if s.wanted == nil || s.over {
		return nil, nil
	}
	lost := field.Faults{Of: s.wanted.Origin}
	wanted := s.wanted.Frontends
	won, intact := wanted, true
	for i := range wanted {
		f := &wanted[i]
		first := c.owner(s, f, known)
		switch {
		case first != s && intact:
			won, intact = slices.Clone(wanted[:i]), false
		case first == s && !intact:
			won = append(won, *f)
		}
		if first == s || first.isDerivedFrom(s) {
			continue
		}
		field, what := f.Path, f.String()
		if f.Kind == intent.NodePort { // one fault, not one for each node
			field, what = f.Path+".nodePort", intent.PortRange{Protocol: f.Protocol, First: f.Port, Last: f.Port}.String()
		}
		lost.AddOnce(field, "%s belongs to %s, which takes precedence; the frontend is not created", what, first.wanted.Origin)
	}
	switch {
	case intact:
		return s.wanted, nil
	case len(won) == 0:
		return nil, lost.List
	default:
		lb := *s.wanted
		lb.Frontends = won
		return &lb, lost.List
	}
}
