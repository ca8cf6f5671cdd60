package network

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Names of kube-ovn.
const (
	switchAnnotation = "ovn.kubernetes.io/logical_switch" // of a pod, or of a namespace: its Subnet
	defaultSubnet    = "ovn-default"
	provider         = "ovn" // of the network of pods; other Subnets are for further interfaces
	unknownSubnet    = ""
)

// addressAnnotations of a pod choose its address.
func addressAnnotations() []string {
	return []string{"ovn.kubernetes.io/ip_pool", "ovn.kubernetes.io/ip_address"}
}

// subnet is a Subnet of kube-ovn.
type subnet struct {
	object  *world.NetworkObject
	cidr    []netip.Prefix
	members []*labelcache.Endpoint
	allows  []netip.Prefix         // of spec.allowSubnets
	allowed []*labelcache.Endpoint // the pods of Subnets in them
}

func (s *subnet) id() string  { return s.object.String() }
func (s *subnet) vpc() string { return vpcOf(s.object) }

func vpcOf(o *world.NetworkObject) string {
	if o.Spec.VPC == "" {
		return world.DefaultVPC
	}
	return o.Spec.VPC
}

// subnets evaluates the Subnets and VPCs of kube-ovn as its controller renders them (kubeovn/kube-ovn, pkg/ovs/ovn-nb-acl.go):
//   - SetLogicalSwitchPrivate gives the switch of a private Subnet ACLs for what it receives, and none for what its pods send: priority 1000
//     drops, 1001 allows what is within the Subnet, and between it and each of allowSubnets. Those of NetworkPolicies are of priorities 2000 and
//     2001 in the same tier (CreateGatewayACL, newNetworkPolicyACLMatch; the priorities are in pkg/util/const.go), so that they decide about
//     a pod that one of them selects; otherwise the Subnet does, also about what is outside. It is thus like a baseline policy.
//   - Priority 3000 allows the addresses that nodes have on the join Subnet; what other addresses of nodes are seen is left open.
//   - The priorities of spec.acls are anyone's, and their matches are not evaluated.
//   - Each VPC has a router of its own: pods of two of them have no route to each other, unless somebody adds one.
//
// The Subnet of a pod is that of its address, its annotation or its namespace (getPodDefaultSubnet in pkg/controller/pod.go, and
// handleAddNamespace in pkg/controller/namespace.go).
func (e *evaluation) subnets() {
	all := e.readSubnets()
	decides := slices.ContainsFunc(all, func(s *subnet) bool {
		return s.object.Spec.Private || len(s.object.Spec.ACLs) > 0 || s.vpc() != world.DefaultVPC
	})
	if !decides {
		return
	}
	e.distribute(all)
	vpcs := map[string][]*subnet{}
	for _, s := range all {
		if vpc := s.vpc(); vpc != world.DefaultVPC {
			vpcs[vpc] = append(vpcs[vpc], s)
		}
		switch spec := &s.object.Spec; {
		case len(spec.ACLs) > 0:
			e.leaveMembers(s, "its spec.acls are not evaluated")
		case spec.Private && s.vpc() != world.DefaultVPC:
			e.leaveMembers(s, "it is private, and in a VPC: the two together are not evaluated")
		case spec.Private:
			e.close(s, all)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vpcs)) {
		e.vpc(name, vpcs[name])
	}
}

// readSubnets lists the Subnets of the network of pods.
func (e *evaluation) readSubnets() []*subnet {
	var out []*subnet
	for _, o := range e.objectsOf(object.KindSubnet) {
		if o.Spec.Provider == "" || o.Spec.Provider == provider {
			cidr, _ := prefixes(strings.Split(o.Spec.CIDRBlock, ","))
			out = append(out, &subnet{object: o, cidr: cidr})
		}
	}
	return out
}

// prefixes parses blocks, and single addresses; known is false if one is neither.
func prefixes(texts []string) (out []netip.Prefix, known bool) {
	known = true
	for _, text := range texts {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if a, single := netip.ParseAddr(text); single == nil {
			p, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		switch {
		case text == "":
		case err != nil:
			known = false
		default:
			out = append(out, p.Masked())
		}
	}
	return intent.MergePrefixes(out), known
}

// distribute finds the Subnet of each pod. Where it is not known, connections of the pod are left open.
func (e *evaluation) distribute(all []*subnet) {
	byName := map[string]*subnet{}
	for _, s := range all {
		byName[s.object.Name] = s
	}
	usual := map[string][]string{} // by namespace
	for name := range e.namespaces {
		usual[name] = e.subnetsOf(name, all)
	}
	for _, pod := range e.pods {
		name, known := e.subnetOf(pod, all, usual[pod.Key.Namespace])
		if s := byName[name]; s != nil && known {
			s.members = append(s.members, pod)
		}
		if !known {
			full := pod.Key.Namespace + "/" + pod.Key.Name
			e.leave(world.Open{Pod: full}, text("Pod/"+full), "its Subnet is not known")
		}
	}
}

// subnetOf names the Subnet of a pod; "" for one that is not declared. It returns false if that is not known.
func (e *evaluation) subnetOf(pod *labelcache.Endpoint, all []*subnet, usual []string) (name string, known bool) {
	o := e.objects[pod.Key]
	if o != nil && o.Annotations[switchAnnotation] != "" {
		return o.Annotations[switchAnnotation], true
	}
	addrs := pod.AllAddrs()
	madeUp := len(addrs) == 0 || e.state.MadeUp != nil && slices.ContainsFunc(addrs, e.state.MadeUp)
	if !madeUp {
		var found []string
		for _, s := range all {
			if slices.ContainsFunc(s.cidr, func(p netip.Prefix) bool { return p.Contains(addrs[0]) }) {
				found = append(found, s.object.Name)
			}
		}
		switch {
		case len(found) == 0:
			return unknownSubnet, true
		case len(found) == 1:
			return found[0], true
		default:
			return unknownSubnet, false // of VPCs with the same blocks
		}
	}
	if o != nil && slices.ContainsFunc(addressAnnotations(), func(a string) bool { return o.Annotations[a] != "" }) {
		return unknownSubnet, false
	}
	if len(usual) != 1 {
		return unknownSubnet, false
	}
	return usual[0], true
}

// subnetsOf lists the Subnets of a namespace: those that it has by annotation, or that name or select it; otherwise the default one.
func (e *evaluation) subnetsOf(namespace string, all []*subnet) []string {
	n := e.namespaces[namespace]
	if has := n.Annotations[switchAnnotation]; has != "" {
		return strings.Split(has, ",")
	}
	var out []string
	usual := defaultSubnet
	for _, s := range all {
		spec := &s.object.Spec
		selects := func(by metav1.LabelSelector) bool {
			selector, err := metav1.LabelSelectorAsSelector(&by)
			return err != nil || selector.Matches(labels.Set(n.Labels))
		}
		if slices.Contains(spec.Namespaces, namespace) || slices.ContainsFunc(spec.NamespaceSelectors, selects) {
			out = append(out, s.object.Name)
		}
		if spec.Default && s.vpc() == world.DefaultVPC {
			usual = s.object.Name
		}
	}
	for _, vpc := range e.objectsOf(object.KindVPC) {
		if vpc.Name != world.DefaultVPC && slices.Contains(vpc.Spec.Namespaces, namespace) {
			if len(out) == 1 && (vpc.Spec.DefaultSubnet == "" || vpc.Spec.DefaultSubnet == out[0]) {
				return out
			}
			return nil // which one it is depends on the status of the VPC
		}
	}
	if len(out) == 0 {
		return []string{usual}
	}
	return out
}

// leaveMembers leaves open the connections of the pods of a Subnet.
func (e *evaluation) leaveMembers(s *subnet, why string) {
	for _, namespace := range namespacesOf(s.members) {
		e.leave(world.Open{Namespace: namespace}, s.object, "%s", why)
	}
}

// close evaluates a private Subnet.
func (e *evaluation) close(s *subnet, all []*subnet) {
	allows, known := prefixes(s.object.Spec.AllowSubnets)
	switch {
	case len(s.members) == 0:
		return
	case !known || len(s.cidr) == 0:
		e.leaveMembers(s, "its blocks cannot be read")
		return
	case e.firstInBaseline():
		e.leaveMembers(s, "a baseline policy of priority 0 is evaluated beside it")
		return
	}
	s.cidr, s.allows = e.withoutMadeUp(s.cidr), allows
	for _, other := range all {
		in := func(p netip.Prefix) bool {
			return slices.ContainsFunc(allows, func(a netip.Prefix) bool { return a.Bits() <= p.Bits() && a.Contains(p.Addr()) })
		}
		overlaps := slices.ContainsFunc(other.cidr, func(p netip.Prefix) bool { return slices.ContainsFunc(allows, p.Overlaps) })
		switch {
		case other == s || !overlaps:
		case len(other.cidr) > 0 && !slices.ContainsFunc(other.cidr, func(p netip.Prefix) bool { return !in(p) }):
			s.allowed = append(s.allowed, other.members...)
		case slices.ContainsFunc(other.members, e.isMadeUp):
			e.leave(world.Open{Network: s.id(), With: world.OtherPod}, s.object, "it allows a part of %s, whose pods have no addresses yet", other.id())
		}
	}
	s.allows = e.withoutMadeUp(s.allows)
	about := world.Open{Network: s.id()}
	about.With = world.OtherNode
	e.leave(about, s.object, "it admits the addresses that nodes have on the join Subnet")
	about.With = world.OtherVIP | world.OtherVIPOutside
	e.leave(about, s.object, "what reaches a node port or an external address of a Service may have the address of a node")
	if e.clusters {
		about.With = world.OtherCluster
		e.leave(about, s.object, "the addresses of pods of other clusters are not evaluated")
	}
	e.private = append(e.private, s)
}

// withoutMadeUp leaves the addresses out of blocks that were made up for pods: of these it is known what Subnet they are in.
func (e *evaluation) withoutMadeUp(blocks []netip.Prefix) []netip.Prefix {
	var excepts []netip.Prefix
	for _, pod := range e.pods {
		for _, a := range pod.AllAddrs() {
			if e.state.MadeUp != nil && e.state.MadeUp(a) {
				excepts = append(excepts, netip.PrefixFrom(a, a.BitLen()))
			}
		}
	}
	if len(excepts) == 0 {
		return blocks
	}
	var out []netip.Prefix
	for _, b := range blocks {
		out = append(out, intent.SubtractPrefixes(b, excepts)...)
	}
	return intent.MergePrefixes(out)
}

func (e *evaluation) isMadeUp(pod *labelcache.Endpoint) bool {
	return e.state.MadeUp != nil && slices.ContainsFunc(pod.AllAddrs(), e.state.MadeUp)
}

// firstInBaseline reports whether a policy of the baseline tier may come before those of Subnets.
func (e *evaluation) firstInBaseline() bool {
	for p := range e.state.Snapshot.Ranked(intent.TierBaseline) {
		if p.Priority == 0 && p.Direction == intent.Ingress {
			return true
		}
	}
	return false
}

// vpc evaluates a VPC with some Subnets.
func (e *evaluation) vpc(name string, of []*subnet) {
	objects := e.objectsOf(object.KindVPC)
	at := slices.IndexFunc(objects, func(o *world.NetworkObject) bool { return o.Name == name })
	n := &network{}
	for _, s := range of {
		n.members = append(n.members, s.members...)
	}
	if len(n.members) == 0 {
		return
	}
	connected := at < 0 || slices.ContainsFunc(of, func(s *subnet) bool { return s.object.Spec.U2OInterconnection })
	if at >= 0 {
		n.object = objects[at]
		spec := &n.object.Spec
		connected = connected || len(spec.VPCPeerings)+len(spec.StaticRoutes)+len(spec.PolicyRoutes) > 0 || spec.EnableExternal
	}
	connected = connected || slices.ContainsFunc(objects, func(o *world.NetworkObject) bool { return len(o.Spec.VPCPeerings) > 0 })
	if connected {
		for _, s := range of {
			e.leaveMembers(s, "whether VPC "+name+" has routes to others is not known")
		}
		return
	}
	slices.SortFunc(n.members, func(a, b *labelcache.Endpoint) int { return a.Key.Compare(b.Key) })
	e.networks = append(e.networks, n)
	e.leave(world.Open{
		Network: n.id(), With: world.OtherNode | world.OtherOutside | world.OtherService | world.OtherVIP | world.OtherVIPOutside | world.OtherCluster,
	}, n.object, "what it has besides its pods, such as gateways and load balancers, is not evaluated")
}
