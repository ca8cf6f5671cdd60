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

// claim is a place that a service requests, and by which right.
type claim struct {
	*service

	right right
}

// right is why a service may request a place, the strongest first: what the API server assigns goes before what a controller reports in
// a status, and that before what anybody may write into a spec. Otherwise whoever creates the older Service could list the address of
// another in its externalIPs, and get its connections (CVE-2020-8554).
type right uint8

const (
	assigned right = iota // a cluster IP or a node port
	reported              // an address in status.loadBalancer
	wished                // one of spec.externalIPs
)

func rightOf(kind intent.FrontendKind) right {
	switch kind {
	case intent.ClusterAddress, intent.NodePort:
		return assigned
	case intent.IngressAddress:
		return reported
	case intent.ExternalAddress:
	}
	return wished
}

// rights are the rights by which a service requests places that it has in two ways, if the second one is stronger.
type rights map[place]right

func (r rights) of(f *intent.Frontend) right {
	if stronger, ok := r[placeOf(f)]; ok {
		return stronger
	}
	return rightOf(f.Kind)
}

// owners lists for each place the claims to it, that of its owner first.
type owners struct {
	*owner.Table[place, claim]
}

func newOwners() owners { return owners{owner.NewTable[place](strongerFirst)} }

// strongerFirst puts the claim first that owns what both request: by the right, then that of the older service. A service of unknown age
// is younger than any other; of equals, the first by name comes first. A Service comes before a ServiceImport with the same right: the
// API server gives each of its addresses to only one Service.
func strongerFirst(a, b claim) int {
	return cmp.Or(
		cmp.Compare(a.right, b.right), strings.Compare(a.ref.Kind, b.ref.Kind), owner.CompareAge(a.created, b.created), a.ref.Compare(b.ref),
	)
}

// contested are places that several services request, now or before.
type contested map[place]bool

// replace makes s request the places of s.wanted instead of those of was, which it had by these rights, with this creation time. In contested, it records those that s
// gave up or newly requests and that others request too.
func (c owners) replace(s *service, was *intent.LoadBalancer, by rights, created metav1.Time, among contested) {
	leave := func(f *intent.Frontend) {
		if key := placeOf(f); c.Remove(key, claim{s, by.of(f)}) {
			among[key] = true
		}
	}
	ask := func(f *intent.Frontend) {
		if key := placeOf(f); c.Add(key, claim{s, s.rights.of(f)}) {
			among[key] = true
		}
	}
	now := s.wanted
	if was != nil && now != nil && was.Network == now.Network && s.created.Equal(&created) {
		c.difference(was, now, by, s.rights, func(gone, came *intent.Frontend) {
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

// difference visits the frontends that only one of two load balancers has, or that it requests by another right.
func (owners) difference(was, now *intent.LoadBalancer, by, right rights, visit func(gone, came *intent.Frontend)) {
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
			if by.of(&a[0]) != right.of(&b[0]) {
				visit(&a[0], nil)
				visit(nil, &b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
}

// standing is the ownership of a place that several services request. If it is assigned to the first of them, that owns the place in
// every network: a Service in a network of its own must not take the cluster IP of another. Otherwise each network has an owner.
type standing struct {
	first     *service
	once      bool                // the first owns the place in every network
	byNetwork map[string]*service // unless once
}

// standings are those of places, each computed when it is needed: a place that n services request costs n, not n for each of them.
type standings map[place]standing

// of returns who owns a place.
func (d standings) of(key place, asking []claim) standing {
	if known, ok := d[key]; ok {
		return known
	}
	out := standing{first: asking[0].service, once: asking[0].right == assigned}
	if !out.once {
		out.byNetwork = map[string]*service{}
		for _, c := range asking {
			if out.byNetwork[c.wanted.Network] == nil {
				out.byNetwork[c.wanted.Network] = c.service
			}
		}
	}
	d[key] = out
	return out
}

// owner returns the owner of the place that s requests with a frontend: s itself, or a service with a stronger claim.
func (c owners) owner(s *service, f *intent.Frontend, known standings) *service {
	key := placeOf(f)
	asking := c.All(key)
	if len(asking) == 1 {
		return s
	}
	now := known.of(key, asking)
	if now.once {
		return now.first
	}
	return now.byNetwork[s.wanted.Network]
}

// settle returns what s wanted without the frontends that another service has, nil if nothing is left, and a problem
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
