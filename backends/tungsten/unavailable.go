package tungsten

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// unavailable finds the load balancers of an owner whose Services a snapshot does not have.
type unavailable struct {
	names namer
	keep  map[object.Ref]bool
	want  *intent.Snapshot
	have  map[string]*tungsten.Object // objects of load balancers, by UUID
}

// services returns the Services that the owner's load balancers were made for, by VIP, and those that the snapshot does not have.
func (u *unavailable) services() (of map[netip.Addr]object.Ref, gone map[object.Ref]bool) {
	present := map[string]bool{}
	for lb := range u.want.LoadBalancers() {
		present[lb.Origin.Ref().Path()] = true
	}
	of, gone = map[netip.Addr]object.Ref{}, map[object.Ref]bool{}
	for _, o := range u.have {
		text := o.Annotations.Get(annotationOrigin)
		var ref object.Ref
		if o.Kind != tungsten.KindLoadBalancer || ref.UnmarshalText([]byte(text)) != nil {
			continue // someone changed it: it is repaired or swept
		}
		of[u.names.vipOf(o)] = ref
		if !present[text] {
			gone[ref] = true
		}
	}
	return of, gone
}

// vips returns the VIPs of those that are kept, as far as objects show what is behind them: rules for them stay in force.
func (u *unavailable) vips(at *addresses) []*vip {
	of, gone := u.services()
	byAddr := map[netip.Addr]*vip{}
	for a, ref := range of {
		if gone[ref] && u.keep[ref] {
			byAddr[a] = &vip{addr: a}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(u.have)) {
		o := u.have[id]
		v := byAddr[u.names.vipOf(o)]
		if o.Kind != tungsten.KindListener || v == nil || o.ListenerProperties == nil || !isPort(o.ListenerProperties.ProtocolPort) {
			continue
		}
		f := front{protocol: intent.TCP, port: uint16(o.ListenerProperties.ProtocolPort)} //nolint:gosec // it is in range
		if o.ListenerProperties.Protocol == "UDP" {
			f.protocol = intent.UDP
		}
		u.behind(o.Name(), v, &f, at)
		v.fronts = append(v.fronts, f)
	}
	return slices.SortedFunc(maps.Values(byAddr), func(a, b *vip) int { return a.addr.Compare(b.addr) })
}

// behind adds the members of the pool of a name to a VIP.
func (u *unavailable) behind(pool string, v *vip, f *front, at *addresses) {
	for _, o := range u.have {
		if o.Kind != tungsten.KindMember || o.FQName[len(o.FQName)-2] != pool || o.MemberProperties == nil ||
			!isPort(o.MemberProperties.ProtocolPort) {
			continue
		}
		f.targets = append(f.targets, uint16(o.MemberProperties.ProtocolPort)) //nolint:gosec // it is in range
		for _, a := range at.byPort[o.Annotations.Get(memberInterface)] {
			if a.addr.Is4() {
				v.backends = append(v.backends, a.addr)
			}
		}
	}
	slices.Sort(f.targets)
	f.targets = slices.Compact(f.targets)
}

// isPort reports whether a number, which the server does not check, is a port.
func isPort(n int) bool { return n > 0 && n <= maxPort }
