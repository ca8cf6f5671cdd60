package world

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// World finds objects in a State. It is immutable and safe for concurrent use.
type World struct {
	State      State
	set        *clusterSet            // with the world itself
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
	doubting   func() *doubting
	wouldBe    func() *World
}

// index indexes a state without the other clusters, and without what is made when it is asked for.
func index(state State) *World {
	judges := state.Snapshot != nil
	if !judges {
		state.Snapshot = intent.NewSnapshot()
	}
	w := &World{
		State:      state,
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
		w.endpoints = append(w.endpoints, e)
	}
	slices.SortFunc(w.endpoints, func(a, b *labelcache.Endpoint) int { return a.Key.Compare(b.Key) })
	for _, e := range w.endpoints {
		for _, a := range e.AllAddrs() {
			w.byAddr[a] = append(w.byAddr[a], e)
		}
		if w.IsOwn(e) {
			w.namespaces[e.Key.Namespace] = true
		}
	}
	w.fileObjects()
	for lb := range state.Snapshot.LoadBalancers() {
		full := lb.Origin.Namespace + "/" + lb.Origin.Name
		w.balancers[full] = append(w.balancers[full], lb)
	}
	w.fileSubjects()
	return w
}

func (w *World) fileObjects() {
	for _, p := range w.State.Objects.Pods {
		w.pods[p.Namespace+"/"+p.Name] = p
		w.namespaces[p.Namespace] = true
	}
	for _, p := range w.State.Objects.Policies {
		w.policies[p.Namespace+"/"+p.Name] = p
	}
	for _, s := range w.State.Objects.Services {
		w.services[s.Namespace+"/"+s.Name] = s
	}
	w.fileClusterPolicies()
	nodes := slices.Clone(w.State.Objects.Nodes)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		addrs := nodeAddrs(n)
		w.nodes[n.Name] = addrs
		for _, a := range addrs {
			if _, taken := w.nodeOf[a]; !taken {
				w.nodeOf[a] = n.Name
			}
		}
	}
}

// fileClusterPolicies finds the names of cluster-wide policies: of the objects, and of those whose policies are in force.
func (w *World) fileClusterPolicies() {
	refs := slices.Clone(w.State.Objects.Cluster)
	for _, t := range []intent.Tier{intent.TierAdmin, intent.TierBaseline} {
		for p := range w.State.Snapshot.Ranked(t) {
			refs = append(refs, p.Origin.Ref())
		}
	}
	for _, ref := range refs {
		if w.cluster[ref.Kind] == nil {
			w.cluster[ref.Kind] = map[string]bool{}
		}
		w.cluster[ref.Kind][ref.Name] = true
	}
}

// Snapshot is the snapshot of the state.
func (w *World) Snapshot() *intent.Snapshot { return w.State.Snapshot }

// Judges reports whether the policies of the cluster are known.
func (w *World) Judges() bool { return w.judges }

// Endpoints lists the pods with a network of their own, of all clusters, by key.
func (w *World) Endpoints() []*labelcache.Endpoint { return w.endpoints }

// PodsAt lists the pods that have an address.
func (w *World) PodsAt(a netip.Addr) []*labelcache.Endpoint { return w.byAddr[a] }

// PodAt names the pod that has an address, the first of several; "" if there is none.
func (w *World) PodAt(a netip.Addr) string {
	if pods := w.byAddr[a]; len(pods) > 0 {
		return w.NameOf(pods[0].Key)
	}
	return ""
}

// NodeAt names the node that has an address; "" if there is none.
func (w *World) NodeAt(a netip.Addr) string { return w.nodeOf[a] }

// At names what has an address: a pod, or several that share it, node/NAME, or the address itself. It reports whether pods
// have it.
func (w *World) At(a netip.Addr) (is string, pod bool) {
	switch pods := w.byAddr[a]; {
	case len(pods) == 1:
		return w.NameOf(pods[0].Key), true
	case len(pods) > 1:
		return a.String() + " of several pods", true
	}
	if node := w.nodeOf[a]; node != "" {
		return "node/" + node, false
	}
	return a.String(), false
}

// Pod returns the object namespace/name; nil if there is none.
func (w *World) Pod(full string) *corev1.Pod { return w.pods[full] }

// Service returns the object namespace/name; nil if there is none.
func (w *World) Service(full string) *corev1.Service { return w.services[full] }

// Balancers lists the load balancers of the Service namespace/name.
func (w *World) Balancers(full string) []*intent.LoadBalancer { return w.balancers[full] }

// ProblemsOf lists the problems of one object.
func (w *World) ProblemsOf(kind, full string) []object.Problem {
	var out []object.Problem
	for _, p := range w.State.Problems {
		if (p.Cluster == "" || p.Cluster == w.State.Cluster) && p.Ref.Kind == kind && p.Ref.NamespacedName() == full {
			out = append(out, p)
		}
	}
	return out
}

// fileSubjects finds the policies of every endpoint by going through the members of each policy's subject.
func (w *World) fileSubjects() {
	for d := range w.subjects {
		w.subjects[d] = map[object.Key][]*intent.Policy{}
	}
	for p := range w.State.Snapshot.Policies() {
		set := w.State.Snapshot.Set(p.Subject)
		if set == nil || set.Members == nil {
			continue
		}
		of := w.subjects[p.Direction]
		for e := range set.Members.All() {
			of[e.Key] = append(of[e.Key], p)
		}
	}
}

// PoliciesOf lists the policies that select a party in a direction, ordered by ID. A party without a key is the endpoint
// with that address.
func (w *World) PoliciesOf(d intent.Direction, p intent.Party) []*intent.Policy {
	if p.Key != (object.Key{}) {
		return w.subjects[d][p.Key]
	}
	var all []*intent.Policy
	for _, e := range w.byAddr[p.Addr] {
		all = append(all, w.subjects[d][e.Key]...)
	}
	slices.SortFunc(all, func(a, b *intent.Policy) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all)
}

// Key names a pod of the state's cluster.
func (w *World) Key(namespace, pod string) object.Key {
	return object.Key{Cluster: w.State.Cluster, Namespace: namespace, Name: pod}
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

// FamilyOf is the name of an address's family: ipv4 or ipv6.
func FamilyOf(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// clusterSet is the worlds of the clusters of a set, by name. In answers, pods of the own cluster have names without a cluster.
type clusterSet struct {
	own     string
	members map[string]*World
}

// Several reports whether there is another cluster.
func (w *World) Several() bool { return len(w.set.members) > 1 }

// Home is the world of the own cluster.
func (w *World) Home() *World { return w.set.members[w.set.own] }

// NameOf names a pod: [cluster/]namespace/name.
func (w *World) NameOf(k object.Key) string { return NameIn(w.set.own, k) }

// NameIn names a pod as answers about a cluster do: only pods of other clusters have the name of theirs. Two equal pods that stand for
// those of a workload have its name.
func NameIn(own string, k object.Key) string {
	k = k.First()
	if k.Cluster == own {
		k.Cluster = ""
	}
	return k.String()
}

// Prefix is what names of objects of the world's cluster begin with in answers.
func (w *World) Prefix() string {
	if w.State.Cluster == w.set.own {
		return ""
	}
	return w.State.Cluster + "/"
}

// IsOwn reports whether an endpoint is a pod of the world's cluster.
func (w *World) IsOwn(e *labelcache.Endpoint) bool { return e.Key.Cluster == w.State.Cluster }
