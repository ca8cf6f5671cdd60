package world

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/name"
	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// State is the state that questions are about, at one moment. It is read-only: its parts are shared.
type State struct {
	Cluster string // name of the cluster of the objects; "" means the only one
	// Snapshot is what the objects mean. It is nil only in Others, for a cluster whose policies are not known.
	Snapshot *intent.Snapshot
	View     labelcache.View // the endpoints that the snapshot was made with, including those of other clusters
	// Others are the other clusters of a set, with at least their names and the view.
	Others   []State
	Objects  Objects
	Problems []object.Problem // errors in the objects, in order
	// Unavailable lists the kinds that could not be read, sorted: their absence does not mean that there are no objects.
	Unavailable []string
	// Workloads are the objects whose pods are known, in order; none if they were not read.
	Workloads []Workload
	// MadeUp reports whether an address stands for one that a cluster would assign; nil means none does. Answers do not show such addresses.
	MadeUp func(netip.Addr) bool
	// Firewalls means that EgressFirewalls are part of the snapshot.
	Firewalls bool
	// Networks are those that network plugins separate, as far as they are part of the snapshot; nil if they are not evaluated.
	Networks *Networks
	// Staged are the policies that are staged, sorted by name. WouldBe makes the state if they were in force, without one of its own; it is nil
	// if there are none.
	Staged  []Staged
	WouldBe func() State
	Reading *Reading // what the objects were read from; nil if they come from a running daemon
	// Unread is why the pods of a cluster in Others are not known; "" if they are.
	Unread string
}

// Objects are those of a cluster that questions may name, in any order.
type Objects struct {
	Pods  []*corev1.Pod
	Nodes []*corev1.Node
	// Namespaces are those that are declared, and those that only have objects.
	Namespaces []*corev1.Namespace
	Policies   []*networkingv1.NetworkPolicy
	Services   []*corev1.Service
	Cluster    []object.Ref // the cluster-wide policies
	// Firewalls are those of ovn-kubernetes. They are part of the snapshot only if the state says so.
	Firewalls []*ovnkubernetes.EgressFirewall
	SDWAN     []SDWANObject
}

// SDWANObject is an SD-WAN object.
type SDWANObject struct {
	Kind, Plural    string // such as Mwan3Rule and mwan3rules
	Namespace, Name string
	State, Message  string // from its status; "" if it has none
}

// String formats the object as kind/namespace/name.
func (o *SDWANObject) String() string { return o.Kind + "/" + o.Namespace + "/" + o.Name }

// Add adds an object if it is of a kind that questions may name, and reports whether it is.
func (o *Objects) Add(added any) bool {
	switch v := added.(type) {
	case SDWANObject:
		o.SDWAN = append(o.SDWAN, v)
	case *corev1.Pod:
		o.Pods = append(o.Pods, v)
	case *corev1.Node:
		o.Nodes = append(o.Nodes, v)
	case *corev1.Namespace:
		o.Namespaces = append(o.Namespaces, v)
	case *corev1.Service:
		o.Services = append(o.Services, v)
	case *networkingv1.NetworkPolicy:
		o.Policies = append(o.Policies, v)
	case *ovnkubernetes.EgressFirewall:
		o.Firewalls = append(o.Firewalls, v)
	case *v1alpha2.ClusterNetworkPolicy:
		o.Cluster = append(o.Cluster, object.Ref{Kind: object.KindClusterNetworkPolicy, Name: v.Name})
	case *v1alpha1.AdminNetworkPolicy:
		o.Cluster = append(o.Cluster, object.Ref{Kind: object.KindAdminNetworkPolicy, Name: v.Name})
	case *v1alpha1.BaselineAdminNetworkPolicy:
		o.Cluster = append(o.Cluster, object.Ref{Kind: object.KindBaselineAdminNetworkPolicy, Name: v.Name})
	default:
		return false
	}
	return true
}

// Workload is an object that creates pods.
type Workload struct {
	Kind            name.Kind
	Namespace, Name string
	Pods            []string // their names
	StandIn         bool     // the pods stand for those that a cluster would create
	HostNetwork     bool
}

// String formats w as in the names of ends, such as deploy/shop/web.
func (w *Workload) String() string { return string(w.Kind) + "/" + w.Namespace + "/" + w.Name }

// Reading is what the objects of a state were read from, and what was left out. The zero value is a reading of nothing.
type Reading struct {
	Files   int            `json:"files"`             // with a list from a cluster or the standard input as one
	Objects map[string]int `json:"objects"`           // that were read, by kind, without those that stand for others
	Ignored map[string]int `json:"ignored,omitempty"` // by kind, of kinds that netloom does not read
	// Unjudged are the kinds among Ignored that change which connections are allowed.
	Unjudged []string `json:"unjudged,omitempty"`
	// Foreign are the objects of those kinds.
	Foreign []Foreign `json:"-"`
	// Networks are the objects of network plugins that separate networks, whether they decide or not.
	Networks []NetworkObject `json:"-"`
	// Unlisted are kinds, as in "CiliumNetworkPolicy (cilium.io)", that may decide on connections and could not be listed.
	Unlisted []string `json:"unlisted,omitempty"`
	// StandIns counts the made-up pods that stand for workloads, and VIPs the made-up addresses of Services.
	StandIns int      `json:"standIns,omitempty"`
	VIPs     int      `json:"vips,omitempty"`
	Empty    []string `json:"empty,omitempty"` // what was read and declares nothing
	Hints    []string `json:"hints,omitempty"` // what to read instead, such as a rendered chart
	// Live means that a cluster was read: a pod without an address has none yet.
	Live bool `json:"live,omitempty"`
}

// Staged is a policy that is staged: it is not part of the snapshot.
type Staged struct {
	Policy object.Ref `json:"policy"`
	// Replaces is the policy of the same kind and namespace that it is to replace; zero if it is to be added.
	Replaces object.Ref `json:"replaces,omitzero"`
}
