package backendtest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// service is what a load balancer of a World is made from.
type service struct {
	origin         intent.Origin
	number         int // determines its addresses and node ports; unique within a state
	pods           term
	stray          bool // has a backend that is not an endpoint
	ports          []servicePort
	families       intent.Families
	localInside    bool // internalTrafficPolicy Local
	localOutside   bool // externalTrafficPolicy Local
	nodePorts      bool
	external       bool
	ingress        bool
	denied         []netip.Prefix
	forNodes       bool
	forZones       bool
	affinity       uint32
	reject         bool
	network        string
	healthCheck    uint16
	notEveryHinted bool // one backend has no hints, so those of the others are ignored
}

// servicePort is one port of a service; target 0 is the one that a pod calls web.
type servicePort struct {
	protocol     intent.Protocol
	port, target uint16
}

// otherNetwork is a logical network besides the default one. No endpoint sends there.
const otherNetwork = "blue"

// maxServices is how many services a World has at most.
const maxServices = 6

// addService writes a new service, at the lowest free number. Its name is sometimes almost the same as another.
func (w *World) addService() {
	w.offered++
	o := intent.Origin{Kind: "Service", Namespace: pick(w.chance, namespaces()), Name: fmt.Sprintf("s-%d", w.offered)}
	switch w.chance.IntN(6) {
	case 0:
		o.Namespace, o.Name = "a-b", fmt.Sprintf("c-%d", w.offered)
	case 1:
		o.Namespace, o.Name = "a", fmt.Sprintf("b-c-%d", w.offered)
	case 2:
		o.Name = fmt.Sprintf("%s-%d", strings.Repeat("long", 14), w.offered)
	}
	o.UID = fmt.Sprintf("00000000-0000-0000-0001-%012d", w.offered)
	number := 1
	for slices.ContainsFunc(w.services, func(s service) bool { return s.number == number }) {
		number++
	}
	w.services = append(w.services, w.service(o, number))
}

// service makes up the settings of a service.
func (w *World) service(o intent.Origin, number int) service {
	one := func(in int) bool { return w.chance.IntN(in) == 0 }
	s := service{
		origin: o, number: number, pods: term{namespace: pick(w.chance, namespaces()), app: pick(w.chance, apps())},
		stray: one(6), families: pick(w.chance, []intent.Families{intent.IPv4, intent.IPv6, intent.IPv4 | intent.IPv6}),
		localInside: one(4), localOutside: one(2), nodePorts: one(2), external: one(3), ingress: one(2),
		forNodes: one(4), forZones: one(2), notEveryHinted: one(6), reject: !one(4), ports: pick(w.chance, servicePorts()),
	}
	if one(4) {
		s.affinity = 10800
	}
	if one(3) {
		s.denied = pick(w.chance, deniedMenu())
	}
	if one(6) {
		s.network = otherNetwork
	}
	if s.localOutside && s.ingress {
		s.healthCheck = 32000
	}
	if one(2) {
		s.pods.app = "" // the whole namespace
	}
	return s
}

// changeService changes one thing about services, terminating pods or nodes.
func (w *World) changeService() {
	switch n := w.chance.IntN(10); {
	case n < 2 && len(w.services) < maxServices:
		w.addService()
	case n < 4 && len(w.services) > 1:
		i := w.chance.IntN(len(w.services))
		w.services = slices.Delete(w.services, i, i+1)
	case n < 6:
		p := &w.pods[w.chance.IntN(len(w.pods))]
		p.ending = !p.ending
	case n < 7:
		w.zones++
	case n < 8:
		w.third = !w.third
	default:
		if len(w.services) > 0 {
			i := w.chance.IntN(len(w.services))
			w.services[i] = w.service(w.services[i].origin, w.services[i].number)
		}
	}
}

// nodeList returns the nodes as they are now. The third comes and goes, and has no pods.
func (w *World) nodeList() []intent.Node {
	list := []intent.Node{
		{Name: nodes()[0], Zone: "east", Addrs: addresses("172.18.0.2", "fd00:18::2")},
		{Name: nodes()[1], Zone: nth(w.zones, "west", "east", ""), SystemID: "chassis-2", Addrs: addresses("172.18.0.3", "fd00:18::3")},
	}
	if w.third {
		list = append(list, intent.Node{Name: "n3", Zone: "west", Addrs: addresses("172.18.0.4")})
	}
	return list
}

func nth(n int, of ...string) string { return of[n%len(of)] }

// balancers returns the load balancers of the services, as nodes and pods are now.
func (w *World) balancers() []intent.LoadBalancer {
	nodes := w.nodeList()
	var list []intent.LoadBalancer
	for i := range w.services {
		s := &w.services[i]
		lb := intent.LoadBalancer{
			ID: intent.LoadBalancerID(s.origin.String()), Origin: s.origin, Network: s.network, Affinity: s.affinity,
			RejectEmpty: s.reject, HealthCheckPort: s.healthCheck,
		}
		for j := range s.ports {
			for _, family := range []intent.Families{intent.IPv4, intent.IPv6} {
				if s.families.Has(family) {
					lb.Frontends = append(lb.Frontends, s.frontends(j, family, w.backends(s, j, family), nodes)...)
				}
			}
		}
		slices.SortFunc(lb.Frontends, func(a, b intent.Frontend) int { return a.Compare(&b) })
		list = append(list, lb)
	}
	return list
}

// backends lists the backends of a port in a family. A pod that shares its address with another is left out.
func (w *World) backends(s *service, port int, family intent.Families) intent.Backends {
	sharing := map[netip.Addr]int{}
	for i := range w.pods {
		for _, a := range w.pods[i].Addrs {
			sharing[a]++
		}
	}
	zones := map[string]string{}
	for _, n := range w.nodeList() {
		zones[n.Name] = n.Zone
	}
	var list []intent.Backend
	for i := range w.pods {
		p := &w.pods[i]
		target := s.ports[port].target
		if target == 0 {
			target = p.web
		}
		if !s.pods.selects(*p) || target == 0 {
			continue
		}
		for _, a := range p.Addrs {
			if intent.FamilyOf(a) != family || sharing[a] > 1 {
				continue
			}
			b := intent.Backend{Addr: a, Port: target, Key: p.Key, Node: p.Node, Draining: p.ending}
			if s.forNodes {
				b.ForNodes = []string{p.Node}
			}
			if zone := zones[p.Node]; s.forZones && zone != "" {
				b.ForZones = []string{zone}
			}
			if s.notEveryHinted && len(list) == 0 {
				b.ForNodes, b.ForZones = nil, nil
			}
			list = append(list, b)
		}
	}
	if s.stray {
		a := outside()[map[intent.Families]int{intent.IPv4: 0, intent.IPv6: 3}[family]]
		list = append(list, intent.Backend{Addr: a, Port: 8080})
	}
	return intent.NewBackends(list...)
}

// frontends lists what leads to the backends of a port in a family.
func (s *service) frontends(port int, family intent.Families, backends intent.Backends, nodes []intent.Node) []intent.Frontend {
	numbered := func(four, six string) netip.Addr {
		if family == intent.IPv4 {
			return netip.MustParseAddr(fmt.Sprint(four, s.number))
		}
		return netip.MustParseAddr(fmt.Sprint(six, s.number))
	}
	front := func(kind intent.FrontendKind, a netip.Addr) intent.Frontend {
		return intent.Frontend{
			Addr: a, Protocol: s.ports[port].protocol, Port: s.ports[port].port, Kind: kind,
			Path: fmt.Sprintf("spec.ports[%d]", port), Backends: backends,
		}
	}
	cluster := front(intent.ClusterAddress, numbered("10.96.0.", "fd96::"))
	if s.localInside {
		cluster.Locality = intent.NodeOfFlow
	}
	list := []intent.Frontend{cluster}
	outer := intent.Anywhere
	if s.localOutside {
		outer = intent.NodeOfOutsideFlow
	}
	if s.external {
		f := front(intent.ExternalAddress, numbered("192.0.2.", "2001:db8:e::"))
		f.Locality = outer
		list = append(list, f)
	}
	if s.ingress {
		f := front(intent.IngressAddress, numbered("192.0.3.", "2001:db8:f::"))
		f.Locality = outer
		for _, p := range s.denied {
			if p.Addr().Is4() == f.Addr.Is4() {
				f.Denied = append(f.Denied, p)
			}
		}
		list = append(list, f)
	}
	for i := range nodes {
		for _, a := range nodes[i].Addrs {
			if !s.nodePorts || intent.FamilyOf(a) != family {
				continue
			}
			f := front(intent.NodePort, a)
			f.Node, f.Port = nodes[i].Name, uint16(30000+8*s.number+port)
			if s.localOutside {
				f.Locality = intent.NodeOfFrontend
			}
			list = append(list, f)
		}
	}
	return list
}

// servicePorts returns the ports that services choose from. Rules use the same numbers.
func servicePorts() [][]servicePort {
	return [][]servicePort{
		{{intent.TCP, 80, 0}},
		{{intent.TCP, 80, 8080}},
		{{intent.TCP, 443, 90}, {intent.UDP, 53, 53}},
		{{intent.UDP, 53, 80}},
		{{intent.TCP, 80, 80}, {intent.SCTP, 80, 80}},
	}
}

// deniedMenu returns the prefixes from which frontends choose the sources that they drop.
func deniedMenu() [][]netip.Prefix {
	return [][]netip.Prefix{
		prefixes("0.0.0.0/1", "128.0.0.0/2", "::/1"),
		prefixes("198.51.100.0/24", "2001:db8::/32"),
		prefixes("0.0.0.0/0", "::/0"),
		prefixes("10.244.0.0/27", "203.0.113.9/32", "fd00:10::/64"),
	}
}
