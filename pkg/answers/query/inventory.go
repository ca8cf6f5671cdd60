package query

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Inventory finds objects in a State. It is immutable and safe for concurrent use.
type Inventory struct {
	state      State
	set        *clusterSet            // with the inventory itself
	judges     bool                   // its policies are known
	endpoints  []*labelcache.Endpoint // by key, of all clusters
	byAddr     map[netip.Addr][]*labelcache.Endpoint
	namespaces map[string]bool        // of pods
	pods       map[string]*corev1.Pod // by namespace/name; including finished ones and those on the host network
	policies   map[string]*networkingv1.NetworkPolicy
	services   map[string]*corev1.Service
	balancers  map[string][]*intent.LoadBalancer // by namespace/name of their service
	nodes      map[string][]netip.Addr
	nodeOf     map[netip.Addr]string
	cluster    map[string]map[string]bool         // by kind: the names of cluster-wide policies
	subjects   [2]map[object.Key][]*intent.Policy // by direction: the policies that select an endpoint
}

// NewInventory indexes a state.
func NewInventory(state State) *Inventory {
	inv := index(state)
	inv.join()
	return inv
}

// index indexes a state without the other clusters.
func index(state State) *Inventory {
	judges := state.Snapshot != nil
	if !judges {
		state.Snapshot = intent.NewSnapshot()
	}
	inv := &Inventory{
		state:      state,
		judges:     judges,
		byAddr:     map[netip.Addr][]*labelcache.Endpoint{},
		namespaces: map[string]bool{},
		pods:       map[string]*corev1.Pod{},
		policies:   map[string]*networkingv1.NetworkPolicy{},
		services:   map[string]*corev1.Service{},
		balancers:  map[string][]*intent.LoadBalancer{},
		nodes:      map[string][]netip.Addr{},
		nodeOf:     map[netip.Addr]string{},
		cluster:    map[string]map[string]bool{},
	}
	for e := range state.View.Endpoints() {
		inv.endpoints = append(inv.endpoints, e)
	}
	slices.SortFunc(inv.endpoints, func(a, b *labelcache.Endpoint) int { return a.Key.Compare(b.Key) })
	for _, e := range inv.endpoints {
		for _, a := range e.AllAddrs() {
			inv.byAddr[a] = append(inv.byAddr[a], e)
		}
		if inv.isOwn(e) {
			inv.namespaces[e.Key.Namespace] = true
		}
	}
	inv.fileObjects()
	for lb := range state.Snapshot.LoadBalancers() {
		name := lb.Origin.Namespace + "/" + lb.Origin.Name
		inv.balancers[name] = append(inv.balancers[name], lb)
	}
	inv.fileSubjects()
	return inv
}

func (inv *Inventory) fileObjects() {
	for _, p := range inv.state.Objects.Pods {
		inv.pods[p.Namespace+"/"+p.Name] = p
		inv.namespaces[p.Namespace] = true
	}
	for _, p := range inv.state.Objects.Policies {
		inv.policies[p.Namespace+"/"+p.Name] = p
	}
	for _, s := range inv.state.Objects.Services {
		inv.services[s.Namespace+"/"+s.Name] = s
	}
	inv.fileClusterPolicies()
	nodes := slices.Clone(inv.state.Objects.Nodes)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		addrs := nodeAddrs(n)
		inv.nodes[n.Name] = addrs
		for _, a := range addrs {
			if _, taken := inv.nodeOf[a]; !taken {
				inv.nodeOf[a] = n.Name
			}
		}
	}
}

// fileClusterPolicies finds the names of cluster-wide policies: of the objects, and of those whose policies are in force.
func (inv *Inventory) fileClusterPolicies() {
	refs := slices.Clone(inv.state.Objects.Cluster)
	for _, t := range []intent.Tier{intent.TierAdmin, intent.TierBaseline} {
		for p := range inv.state.Snapshot.Ranked(t) {
			refs = append(refs, p.Origin.Ref())
		}
	}
	for _, ref := range refs {
		if inv.cluster[ref.Kind] == nil {
			inv.cluster[ref.Kind] = map[string]bool{}
		}
		inv.cluster[ref.Kind][ref.Name] = true
	}
}

// Snapshot is the snapshot of the inventory's state.
func (inv *Inventory) Snapshot() *intent.Snapshot { return inv.state.Snapshot }

// fileSubjects finds the policies of every endpoint by going through the members of each policy's subject.
func (inv *Inventory) fileSubjects() {
	for d := range inv.subjects {
		inv.subjects[d] = map[object.Key][]*intent.Policy{}
	}
	for p := range inv.state.Snapshot.Policies() {
		set := inv.state.Snapshot.Set(p.Subject)
		if set == nil || set.Members == nil {
			continue
		}
		of := inv.subjects[p.Direction]
		for e := range set.Members.All() {
			of[e.Key] = append(of[e.Key], p)
		}
	}
}

// policiesOf lists the policies that select a party in a direction, ordered by ID. A party without a key is the endpoint
// with that address.
func (inv *Inventory) policiesOf(d intent.Direction, p intent.Party) []*intent.Policy {
	if p.Key != (object.Key{}) {
		return inv.subjects[d][p.Key]
	}
	var all []*intent.Policy
	for _, e := range inv.byAddr[p.Addr] {
		all = append(all, inv.subjects[d][e.Key]...)
	}
	slices.SortFunc(all, func(a, b *intent.Policy) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

// key names a pod of the state's cluster.
func (inv *Inventory) key(namespace, name string) object.Key {
	return object.Key{Cluster: inv.state.Cluster, Namespace: namespace, Name: name}
}

// Names lists the names of a kind of object, sorted: pods, policies and services as namespace/name, nodes and cluster-wide policies
// by name. An unknown kind has no names.
func (inv *Inventory) Names(kind Kind) []string {
	switch kind {
	case KindPod:
		return inv.podNames()
	case KindPolicy:
		return sortedKeys(inv.policies)
	case KindService:
		names := map[string]bool{}
		for name := range inv.services {
			names[name] = true
		}
		for name := range inv.balancers {
			names[name] = true
		}
		return sortedKeys(names)
	case KindNode:
		return sortedKeys(inv.nodes)
	case KindClusterPolicy, KindAdminPolicy, KindBaselinePolicy:
		return sortedKeys(inv.cluster[kind.objectKind()])
	case kindAddress:
	}
	return nil
}

// podNames lists the pods of the cluster: its objects, and its endpoints, which are all that is known of some clusters.
func (inv *Inventory) podNames() []string {
	names := map[string]bool{}
	for name := range inv.pods {
		names[name] = true
	}
	for _, e := range inv.endpoints {
		if inv.isOwn(e) {
			names[e.Key.Namespace+"/"+e.Key.Name] = true
		}
	}
	return sortedKeys(names)
}

// nodeAddrs are the addresses of a node in the network.
func nodeAddrs(n *corev1.Node) []netip.Addr {
	var addrs []netip.Addr
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		if addr, err := netip.ParseAddr(a.Address); err == nil {
			addrs = append(addrs, addr.Unmap().WithZone(""))
		}
	}
	return addrs
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
