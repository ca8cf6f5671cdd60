package service

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// NetworkAnnotation names the logical network that a Service is in; if it is missing or empty, that is the default
// network. The annotation of kube-ovn is supported too.
const NetworkAnnotation = "netloom.io/network"

const (
	kubeOVNNetwork = "ovn.kubernetes.io/vpc"
	// proxyName is the label of Services that another proxy serves (a well-known label of Kubernetes), whatever its value.
	proxyName = "service.kubernetes.io/service-proxy-name"
	// defaultAffinity is for how many seconds a client is remembered if the Service does not specify it
	// (ClientIPConfig.timeoutSeconds).
	defaultAffinity = corev1.DefaultClientIPServiceAffinitySeconds
	maxAffinity     = 86400 // from the same documentation
)

// translation is one Service being translated to frontends. The zero value has none.
type translation struct {
	field.Faults
	*Table
	service  *service
	object   *corev1.Service
	cluster  []netip.Addr // its cluster IPs
	families intent.Families
	account  *budget.Account
	out      []intent.Frontend
	behind   []pool                             // of each of them
	pools    map[pool]bool                      // those that are used
	denies   map[intent.Families][]netip.Prefix // by source ranges
	onNodes  bool                               // has node ports
	over     bool                               // is beyond its budget: it keeps its frontends, without backends
	rights   rights                             // to places that it has in two ways
}

// frontends translates a Service. One without an address of its own, or one that another proxy serves, has none.
func (t *Table) frontends(s *service) translation {
	o := s.object
	tr := translation{
		Faults: field.Faults{Of: t.source.Origin(s.ref.Kind, o)}, Table: t, service: s, object: o,
		pools: map[pool]bool{}, account: t.budget.Open(),
	}
	_, others := o.Labels[proxyName]
	_, headless := o.Labels[corev1.IsHeadlessService]
	if others || headless || o.Spec.Type == corev1.ServiceTypeExternalName {
		return tr
	}
	tr.readClusterIPs()
	if len(tr.cluster) == 0 {
		return tr
	}
	faults := len(tr.List)
	standing := t.ledger.Standing(s.ref, o.CreationTimestamp)
	if standing != budget.Beyond {
		tr.expose()
		standing = t.ledger.Set(s.ref, tr.account.Cost(), nil)
	}
	err, limits := tr.account.Err(), t.budget
	if err == nil && standing != budget.Within {
		err, limits = fmt.Errorf("the Services of namespace %s exceed their budget, and this is one of the newest", o.Namespace), reserved()
	}
	if err != nil {
		tr.List = tr.List[:faults] // the others are found again
		tr.reserve(err, limits)
	} else {
		tr.fill()
	}
	tr.collapse()
	return tr
}

// reserve lists the frontends of a Service beyond a budget, without backends, as many as are within limits. They are not
// written, but the Service still owns them: otherwise a younger Service would get its traffic.
func (s *translation) reserve(because error, limits budget.Limits) {
	s.over, s.out, s.behind, s.pools, s.account = true, nil, nil, nil, limits.Open()
	s.expose()
	s.Add("spec", "%v; it has no load balancer", because)
}

// readClusterIPs reads spec.clusterIPs, or spec.clusterIP if that is empty. "None" is a headless Service; an empty list is one that waits
// for an address.
func (s *translation) readClusterIPs() {
	path, texts := "spec.clusterIPs[%d]", s.object.Spec.ClusterIPs
	switch {
	case s.service.ref.Kind == object.KindServiceImport:
		path = "spec.ips[%d]"
	case len(texts) == 0:
		path, texts = "spec.clusterIP", []string{s.object.Spec.ClusterIP}
	}
	for i, text := range texts {
		if text == "" || text == corev1.ClusterIPNone {
			continue
		}
		a, err := address.Parse(text)
		if err != nil {
			s.Add(strings.Replace(path, "%d", fmt.Sprint(i), 1), "%v; it is ignored", err)
			continue
		}
		s.cluster = append(s.cluster, a)
		s.families |= intent.FamilyOf(a)
	}
}

// expose lists the frontends of every port.
func (s *translation) expose() {
	spec := &s.object.Spec
	s.checkType()
	at := exposure{inside: intent.Anywhere, outside: intent.Anywhere, onNode: intent.Anywhere}
	if p := spec.InternalTrafficPolicy; p != nil && s.local("spec.internalTrafficPolicy", string(*p)) {
		at.inside = intent.NodeOfFlow
	}
	if s.local("spec.externalTrafficPolicy", string(spec.ExternalTrafficPolicy)) {
		at.outside, at.onNode = intent.NodeOfOutsideFlow, intent.NodeOfFrontend
	}
	at.external, at.ingress = s.externalIPs(), s.ingressIPs()
	if len(at.ingress) > 0 && !s.over {
		at.denied = s.denied(len(at.ingress))
	}
	for i := range spec.Ports {
		if s.account.Err() != nil {
			return
		}
		s.exposePort(fmt.Sprintf("spec.ports[%d]", i), &spec.Ports[i], &at)
	}
}

// exposure is where the ports of a Service are exposed, besides its cluster IPs, and to which clients.
type exposure struct {
	external, ingress       []netip.Addr
	inside, outside, onNode intent.Locality // of cluster IPs, of external and ingress IPs, of node ports
	denied                  map[intent.Families][]netip.Prefix
}

func (s *translation) exposePort(path string, p *corev1.ServicePort, at *exposure) {
	proto, ok := field.Protocol(&p.Protocol)
	if !ok {
		s.Add(path+".protocol", "%q: expected TCP, UDP or SCTP; the port is ignored", p.Protocol)
		return
	}
	if !s.account.Spend(budget.Frontends, len(s.cluster)+len(at.external)+len(at.ingress)) {
		return
	}
	add := func(a netip.Addr, f intent.Frontend) {
		f.Addr, f.Protocol, f.Path = a, proto, path
		if of := (pool{p.Name, proto, intent.FamilyOf(a)}); s.over || s.spend(of, f.Kind) {
			s.out, s.behind = append(s.out, f), append(s.behind, of)
		}
	}
	if port, ok := s.PortNumber(path+".port", p.Port); ok {
		for _, a := range s.cluster {
			add(a, intent.Frontend{Port: port, Kind: intent.ClusterAddress, Locality: at.inside})
		}
		for _, a := range at.external {
			add(a, intent.Frontend{Port: port, Kind: intent.ExternalAddress, Locality: at.outside})
		}
		for _, a := range at.ingress {
			add(a, intent.Frontend{
				Port: port, Kind: intent.IngressAddress, Locality: at.outside, Denied: at.denied[intent.FamilyOf(a)],
			})
		}
	}
	if p.NodePort == 0 || !hasNodePorts(s.object.Spec.Type) {
		return
	}
	port, ok := s.PortNumber(path+".nodePort", p.NodePort)
	if !ok {
		return
	}
	s.onNodes = true
	for _, n := range s.nodes.list() {
		if !s.account.Spend(budget.Frontends, len(n.Addrs)) {
			return
		}
		for _, a := range n.Addrs {
			if s.families.Has(intent.FamilyOf(a)) {
				add(a, intent.Frontend{Port: port, Kind: intent.NodePort, Node: n.Name, Locality: at.onNode})
			}
		}
	}
}

// hasNodePorts reports whether the nodes serve a Service: LoadBalancer builds on NodePort.
func hasNodePorts(t corev1.ServiceType) bool {
	return t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer
}

func (s *translation) checkType() {
	t := s.object.Spec.Type
	if s.service.ref.Kind == object.KindServiceImport {
		if t != "" {
			s.Add("spec.type", "%q: expected ClusterSetIP or Headless; ClusterSetIP is used", t)
		}
		return
	}
	switch t {
	case "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceTypeExternalName:
	default:
		s.Add("spec.type", "%q: expected ClusterIP, NodePort, LoadBalancer or ExternalName; ClusterIP is used", t)
	}
}

// local reports whether a traffic policy is Local.
func (s *translation) local(field, policy string) bool {
	switch policy {
	case "", "Cluster":
	case "Local":
		return true
	default:
		s.Add(field, "%q: expected Cluster or Local; Cluster is used", policy)
	}
	return false
}

// externalIPs reads spec.externalIPs.
func (s *translation) externalIPs() []netip.Addr {
	var out []netip.Addr
	for i, text := range s.object.Spec.ExternalIPs {
		out = s.take(out, fmt.Sprintf("spec.externalIPs[%d]", i), text)
	}
	return out
}

// ingressIPs reads status.loadBalancer of a Service of that type. Traffic through a proxy, or to a name, arrives with
// another destination.
func (s *translation) ingressIPs() []netip.Addr {
	if s.object.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	var out []netip.Addr
	for i, in := range s.object.Status.LoadBalancer.Ingress {
		field := fmt.Sprintf("status.loadBalancer.ingress[%d]", i)
		if in.IPMode != nil && *in.IPMode != corev1.LoadBalancerIPModeVIP {
			if *in.IPMode != corev1.LoadBalancerIPModeProxy {
				s.Add(field+".ipMode", "%q: expected VIP or Proxy; the address is ignored", *in.IPMode)
			}
			continue
		}
		if in.IP != "" {
			out = s.take(out, field+".ip", in.IP)
		}
	}
	return out
}

// take appends an address. If the Service has no cluster IP of its family, the address is reported instead.
func (s *translation) take(to []netip.Addr, path, text string) []netip.Addr {
	a, err := address.Parse(text)
	switch {
	case err != nil:
		s.Add(path, "%v; it is ignored", err)
	case !s.families.Has(intent.FamilyOf(a)):
		s.Add(path, "%s has an address family that no cluster IP of the Service has; it is ignored", a)
	default:
		return append(to, a)
	}
	return to
}

// denied returns the sources that spec.loadBalancerSourceRanges does not admit, by family: if there are ranges, all
// others. A range that cannot be parsed admits none. Ranges whose complement, for that many addresses, is beyond the
// budget admit none either.
func (s *translation) denied(addresses int) map[intent.Families][]netip.Prefix {
	texts := s.object.Spec.LoadBalancerSourceRanges
	if len(texts) == 0 {
		return nil
	}
	var admitted []netip.Prefix
	for i, text := range texts {
		p, err := address.ParsePrefix(strings.TrimSpace(text)) // spaces around them have always been allowed
		if err != nil {
			s.Add(fmt.Sprintf("spec.loadBalancerSourceRanges[%d]", i), "%v; it allows nothing", err)
			continue
		}
		admitted = append(admitted, p)
	}
	out := map[intent.Families][]netip.Prefix{}
	for _, any := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		block, most := netip.PrefixFrom(any, 0), s.account.Left(budget.Prefixes)
		rest, fits := intent.SubtractAtMost(block, admitted, most/addresses)
		if !fits {
			s.Add("spec.loadBalancerSourceRanges",
				"denying all other sources needs more than %d prefixes for %d addresses, the limit for one object; "+
					"no source is allowed", most, addresses)
			rest = []netip.Prefix{block}
		}
		s.account.Spend(budget.Prefixes, len(rest)*addresses)
		if family := intent.FamilyOf(any); slices.Equal(rest, s.service.denied[family]) {
			out[family] = s.service.denied[family] // shared by every port, so that load balancers are compared quickly
		} else {
			out[family] = rest
		}
	}
	s.denies = out
	return out
}

// collapse sorts the frontends and drops duplicates. If an address has several kinds, the first counts, in the order
// cluster IP, external IP, ingress IP, node; but sources that any of them denies are denied.
func (s *translation) collapse() {
	slices.SortStableFunc(s.out, func(a, b intent.Frontend) int { return a.Compare(&b) })
	out := s.out[:0]
	for i := range s.out {
		f := s.out[i]
		if n := len(out); n == 0 || out[n-1].Compare(&f) != 0 {
			out = append(out, f)
			continue
		}
		first := &out[len(out)-1]
		if first.Path != f.Path {
			s.AddOnce(f.Path, "%s/%d is already used by %s; it is ignored there", f.Protocol, f.Port, first.Path)
			continue
		}
		if right := rightOf(f.Kind); right < rightOf(first.Kind) {
			if s.rights == nil {
				s.rights = rights{}
			}
			s.rights[placeOf(first)] = right
		}
		if len(f.Denied) > 0 {
			first.Denied = intent.MergePrefixes(append(slices.Clone(first.Denied), f.Denied...))
		}
	}
	s.out = out
}

// balancer returns the intent with all frontends, nil if there are none.
func (s *translation) balancer() *intent.LoadBalancer {
	if len(s.out) == 0 {
		return nil
	}
	return &intent.LoadBalancer{
		ID:              intent.LoadBalancerID(s.Of.String()),
		Origin:          s.Of,
		Network:         networkOf(s.object.Annotations),
		Affinity:        s.affinity(),
		RejectEmpty:     true,
		HealthCheckPort: s.healthCheckPort(),
		Frontends:       s.out,
	}
}

func networkOf(annotations map[string]string) string {
	if n, ok := annotations[NetworkAnnotation]; ok {
		return n
	}
	return annotations[kubeOVNNetwork]
}

func (s *translation) affinity() uint32 {
	spec := &s.object.Spec
	switch spec.SessionAffinity {
	case "", corev1.ServiceAffinityNone:
		return 0
	case corev1.ServiceAffinityClientIP:
	default:
		s.Add("spec.sessionAffinity", "%q: expected ClientIP or None; None is used", spec.SessionAffinity)
		return 0
	}
	c := spec.SessionAffinityConfig
	if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
		return uint32(defaultAffinity)
	}
	seconds := *c.ClientIP.TimeoutSeconds
	if seconds < 1 || seconds > maxAffinity {
		s.Add("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "%d: expected 1 to %d; %d is used",
			seconds, maxAffinity, defaultAffinity)
		return uint32(defaultAffinity)
	}
	return uint32(seconds)
}

// healthCheckPort returns spec.healthCheckNodePort, which only a LoadBalancer with externalTrafficPolicy Local has.
func (s *translation) healthCheckPort() uint16 {
	spec := &s.object.Spec
	local := spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	if spec.Type != corev1.ServiceTypeLoadBalancer || !local || spec.HealthCheckNodePort == 0 {
		return 0
	}
	port, _ := s.PortNumber("spec.healthCheckNodePort", spec.HealthCheckNodePort)
	return port
}
