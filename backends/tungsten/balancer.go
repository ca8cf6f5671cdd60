package tungsten

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// balancers is the load balancers of a snapshot as objects.
type balancers struct {
	names     namer
	network   []string // that of Services; nil if there is none
	missing   string   // why there is none
	barred    map[netip.Addr]string
	ports     *ports
	addresses *addresses

	objects map[string]*tungsten.Object // by UUID
	skips   []backends.Skip
}

// served is a frontend that a listener can have.
type served struct {
	of         *intent.LoadBalancer
	front      *intent.Frontend
	target     uint16
	interfaces []string // UUIDs, sorted
}

// render renders the load balancers of a snapshot. Each VIP has one with a listener for each of its frontends.
func (b *balancers) render(want *intent.Snapshot) {
	b.objects = map[string]*tungsten.Object{}
	byAddr := map[netip.Addr][]served{}
	var order []netip.Addr
	for lb := range want.LoadBalancers() {
		reasons := newReasons()
		for i := range lb.Frontends {
			f := &lb.Frontends[i]
			s, reason := b.serve(lb, f)
			if reason != "" {
				reasons.add(f, reason)
				continue
			}
			if s == nil {
				continue
			}
			if byAddr[f.Addr] == nil {
				order = append(order, f.Addr)
			}
			byAddr[f.Addr] = append(byAddr[f.Addr], *s)
		}
		b.skips = append(b.skips, reasons.skips(lb.ID)...)
	}
	for _, a := range order {
		b.vip(a, byAddr[a])
	}
}

// unservable returns why no listener can do what a frontend requires; "" if one can.
func (b *balancers) unservable(lb *intent.LoadBalancer, f *intent.Frontend) string {
	switch {
	case b.network == nil:
		return b.missing
	case lb.Network != "":
		return "only the default network has load balancers"
	case f.Kind == intent.NodePort:
		return "the vrouter has no addresses of nodes, so there are no node ports"
	case f.Kind != intent.ClusterAddress:
		return "external addresses need floating IPs of a public network, which netloom does not allocate"
	case f.Protocol != intent.TCP && f.Protocol != intent.UDP:
		return "a listener is for TCP or UDP"
	case !f.Addr.Is4():
		return "floating IPs translate no ports of IPv6"
	case lb.Affinity > 0:
		return "the vrouter has no session affinity"
	case f.Locality == intent.NodeOfFlow || f.Locality == intent.NodeOfFrontend:
		return "the vrouter does not choose endpoints by node"
	case f.PerNode(true):
		return "the vrouter does not choose endpoints by node or zone, as the hints of its slices demand"
	case len(f.Denied) > 0:
		return "a listener does not filter sources"
	case b.barred[f.Addr] != "":
		return "the controller refused it: " + b.barred[f.Addr]
	}
	for _, a := range b.addresses.byAddr[f.Addr] {
		if a.network == strings.Join(b.network, ":") && a.name != b.names.vipName(f.Addr) {
			return "another load balancer has its address, by the instance IP " + a.name
		}
	}
	return ""
}

// serve finds out how a frontend can be served; nil if it has no backends.
func (b *balancers) serve(lb *intent.LoadBalancer, f *intent.Frontend) (*served, string) {
	if reason := b.unservable(lb, f); reason != "" {
		return nil, reason
	}
	chosen := f.Choose(nil, true)
	if chosen.Len() == 0 {
		if lb.RejectEmpty {
			return nil, "without endpoints, connections are dropped instead of rejected"
		}
		return nil, ""
	}
	if !onePort(chosen) {
		return nil, textPorts
	}
	s := &served{of: lb, front: f}
	for backend := range chosen.All() {
		s.target = backend.Port
		if id := b.interfaceAt(backend.Addr); id != "" {
			s.interfaces = append(s.interfaces, id)
		} else {
			b.skips = append(b.skips, backendSkip(lb.ID, backend))
		}
	}
	slices.Sort(s.interfaces)
	return s, ""
}

const textPorts = "its endpoints listen on different ports, and a floating IP translates to one"

// onePort reports whether all backends listen on the same port.
func onePort(backends intent.Backends) bool {
	var port uint16
	for b := range backends.All() {
		if port != 0 && b.Port != port {
			return false
		}
		port = b.Port
	}
	return true
}

// unservable reports the frontends that no controller can serve, whatever it has.
func unservable(names namer, want *intent.Snapshot) []backends.Skip {
	b := &balancers{names: names, network: []string{}, addresses: &addresses{}}
	var out []backends.Skip
	for lb := range want.LoadBalancers() {
		reasons := newReasons()
		for i := range lb.Frontends {
			f := &lb.Frontends[i]
			if reason := b.unservable(lb, f); reason != "" {
				reasons.add(f, reason)
			} else if !onePort(f.Choose(nil, true)) {
				reasons.add(f, textPorts)
			}
		}
		out = append(out, reasons.skips(lb.ID)...)
	}
	return out
}

func backendSkip(of intent.LoadBalancerID, b *intent.Backend) backends.Skip {
	return backends.Skip{
		Intent: string(of), Reason: fmt.Sprintf("the endpoint %s gets no connections: it is not the only IPv4 address of the interface of one pod", b.Addr),
	}
}

// interfaceAt returns the interface of the only pod with an address; "" if the vrouter would not translate to that address.
func (b *balancers) interfaceAt(a netip.Addr) string {
	var found string
	for _, at := range b.addresses.byAddr[a] {
		for _, id := range at.interfaces {
			if b.ports.byUUID[id] == nil {
				continue
			}
			if found != "" {
				return ""
			}
			found = id
		}
	}
	for _, other := range b.addresses.byPort[found] {
		if other.addr != a && other.addr.Is4() {
			return ""
		}
	}
	return found
}

// vip adds the objects of the load balancer of a VIP. There is one floating IP for all listeners, so they need the same members.
func (b *balancers) vip(a netip.Addr, all []served) {
	for i := range all {
		if !slices.Equal(all[i].interfaces, all[0].interfaces) {
			reported := map[intent.LoadBalancerID]bool{}
			for _, s := range all {
				if !reported[s.of.ID] {
					reported[s.of.ID] = true
					b.skips = append(b.skips, backends.Skip{
						Intent: string(s.of.ID), Reason: "its ports have different endpoints, and a floating IP has the same ones for all",
					})
				}
			}
			return
		}
	}
	if len(all[0].interfaces) == 0 {
		return
	}
	name, origin := b.names.vipName(a), all[0].of.Origin
	vip := b.object(tungsten.KindInterface, b.network[:2], name, origin)
	vip.VirtualNetworkRefs, vip.DeviceOwner = []tungsten.Ref{tungsten.RefTo(b.network...)}, "K8S:LOADBALANCER"
	ip := b.object(tungsten.KindInstanceIP, nil, name, origin)
	ip.InstanceIPAddress = a.String()
	ip.VirtualNetworkRefs, ip.InterfaceRefs = vip.VirtualNetworkRefs, []tungsten.Ref{tungsten.RefTo(vip.FQName...)}
	lb := b.object(tungsten.KindLoadBalancer, b.network[:2], name, origin)
	lb.LoadBalancerProvider, lb.InterfaceRefs = "native", ip.InterfaceRefs
	lb.LoadBalancerProperties = &tungsten.LoadBalancerProperties{
		ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE", VIPAddress: a.String(),
	}
	version := name + "-" + mappingOf(all)
	for i := range all {
		b.listener(&all[i], version, lb)
	}
}

// mappingOf is a hash of the ports of a VIP and what they are translated to. Listeners with other ports get other names: svc-monitor
// removes what is left of a port together with interfaces that other ports need, so all of them are replaced.
func mappingOf(all []served) string {
	var text strings.Builder
	for i := range all {
		fmt.Fprintf(&text, "%s/%d/%d ", all[i].front.Protocol, all[i].front.Port, all[i].target)
	}
	return digest(text.String())[:12]
}

// listener adds the listener of a frontend, its pool and its members.
func (b *balancers) listener(s *served, version string, lb *tungsten.Object) {
	protocol := strings.ToUpper(s.front.Protocol.String())
	name := fmt.Sprintf("%s-%s-%d", version, s.front.Protocol, s.front.Port)
	listener := b.object(tungsten.KindListener, b.network[:2], name, s.of.Origin)
	listener.LoadBalancerRefs = []tungsten.Ref{tungsten.RefTo(lb.FQName...)}
	listener.ListenerProperties = &tungsten.ListenerProperties{Protocol: protocol, ProtocolPort: int(s.front.Port)}
	pool := b.object(tungsten.KindPool, b.network[:2], name, s.of.Origin)
	pool.ListenerRefs = []tungsten.Ref{tungsten.RefTo(listener.FQName...)}
	pool.PoolProperties = &tungsten.PoolProperties{Protocol: protocol, Method: "ROUND_ROBIN"}
	for _, id := range s.interfaces {
		m := b.object(tungsten.KindMember, pool.FQName, id, s.of.Origin)
		m.MemberProperties = &tungsten.MemberProperties{ProtocolPort: int(s.target)}
		notes := m.Annotations.Map()
		notes[memberInterface] = id
		m.Annotations = tungsten.NewAnnotations(notes)
	}
}

// memberInterface is the annotation of a member that names its interface.
const memberInterface = "vmi"

// object adds an object of the owner.
func (b *balancers) object(kind tungsten.Kind, parent []string, name string, origin intent.Origin) *tungsten.Object {
	o := &tungsten.Object{
		Kind: kind, FQName: append(slices.Clone(parent), name), ParentType: tungsten.KindProject,
		Annotations: tungsten.NewAnnotations(map[string]string{
			annotationOwner: b.names.owner, annotationFor: note(origin.String()), annotationOrigin: origin.Ref().Path(),
		}),
	}
	switch kind { //nolint:exhaustive // of the kinds that load balancers consist of
	case tungsten.KindMember:
		o.ParentType = tungsten.KindPool
	case tungsten.KindInstanceIP:
		o.ParentType = ""
	}
	o.UUID = b.names.uuid(kind, strings.Join(o.FQName, ":"))
	b.objects[o.UUID] = o
	return o
}

// reasons collects why frontends of a load balancer are not served, each once with the first of them.
type reasons struct {
	order []string
	at    map[string]string
}

func newReasons() *reasons { return &reasons{at: map[string]string{}} }

func (r *reasons) add(f *intent.Frontend, reason string) {
	if _, known := r.at[reason]; !known {
		r.order = append(r.order, reason)
		r.at[reason] = fmt.Sprintf("%s %s", f.Kind, f)
	}
}

func (r *reasons) skips(id intent.LoadBalancerID) []backends.Skip {
	out := make([]backends.Skip, 0, len(r.order))
	for _, reason := range r.order {
		out = append(out, backends.Skip{Intent: string(id), Reason: r.at[reason] + ": " + reason})
	}
	return out
}
