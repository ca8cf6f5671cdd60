package world

import (
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/object"
)

// NetworkObject is an object of a network plugin that may put pods on a network of their own. Package network evaluates it.
type NetworkObject struct {
	Group, Kind     string
	Namespace, Name string // the namespace is "" for an object that has none
	Spec            NetworkSpec
}

// String formats o as Kind/namespace/name or Kind/name.
func (o *NetworkObject) String() string {
	return object.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.Path()
}

// NetworkSpec is what is read of such an object. The names of fields are those of its API.
type NetworkSpec struct {
	UserNetwork // of a UserDefinedNetwork; that of a ClusterUserDefinedNetwork is Network

	Network            UserNetwork
	NamespaceSelector  metav1.LabelSelector
	NamespaceSelectors []metav1.LabelSelector

	// A Subnet or a Vpc of kube-ovn (kubeovn.io/v1).
	Default            bool
	Private            bool
	CIDRBlock          string
	AllowSubnets       []string
	ACLs               []json.RawMessage
	VPC                string
	Namespaces         []string
	Provider           string
	DefaultSubnet      string
	U2OInterconnection bool
	VPCPeerings        []json.RawMessage
	StaticRoutes       []json.RawMessage
	PolicyRoutes       []json.RawMessage
	EnableExternal     bool
}

// UserNetwork is a network of ovn-kubernetes (k8s.ovn.org/v1).
type UserNetwork struct {
	Topology string
	Layer2   *struct {
		Role    string
		Subnets []string
	}
	Layer3 *struct {
		Role    string
		Subnets []struct{ CIDR string }
	}
	Transport string
}

// Primary reports whether it is the primary network of pods.
func (n *UserNetwork) Primary() bool {
	return n.Layer2 != nil && isPrimary(n.Layer2.Role) || n.Layer3 != nil && isPrimary(n.Layer3.Role)
}

// Subnets are the blocks that pods have addresses of.
func (n *UserNetwork) Subnets() []string {
	var out []string
	if n.Layer2 != nil {
		out = append(out, n.Layer2.Subnets...)
	}
	if n.Layer3 != nil {
		for _, s := range n.Layer3.Subnets {
			out = append(out, s.CIDR)
		}
	}
	return out
}

// networkKinds are the kinds of NetworkObject. Some have no effect but through others of them.
func networkKinds() []string {
	return []string{
		groupOVNKubernetes + "/UserDefinedNetwork", groupOVNKubernetes + "/ClusterUserDefinedNetwork",
		groupOVNKubernetes + "/ClusterNetworkConnect", groupOVNKubernetes + "/RouteAdvertisements",
		groupKubeOVN + "/Subnet", groupKubeOVN + "/Vpc",
	}
}

// networkObject reads an object; false if it is of no such kind, or cannot be read.
func networkObject(group, kind, namespace string, content []byte) (NetworkObject, bool) {
	if !slices.Contains(networkKinds(), group+"/"+kind) {
		return NetworkObject{}, false
	}
	var o struct {
		Metadata struct{ Name string }
		Spec     NetworkSpec
	}
	if json.Unmarshal(content, &o) != nil {
		return NetworkObject{}, false
	}
	out := NetworkObject{Group: group, Kind: kind, Name: o.Metadata.Name, Spec: o.Spec}
	if kind == object.KindUserDefinedNetwork {
		out.Namespace = namespace
	}
	return out, true
}

// Networks is what the networks of a cluster make of connections, besides what is part of the snapshot.
type Networks struct {
	// Of is the network of each pod that is not on the default one.
	Of map[object.Key]string
	// DNS are the pods of the cluster's DNS.
	DNS map[object.Key]bool
	// Open is what the networks leave open.
	Open []Open
}

// Open is a set of connections that cannot be judged from the objects alone.
type Open struct {
	Text string // why
	// Pod, namespace/name, or Namespace limits it to connections of a pod, or of the pods of a namespace. If both are "", one end is on
	// Network.
	Pod, Namespace string
	Network        string
	With           Other // what the other end is
	Direct         bool  // not through a Service
}

// Other is what the other end of a connection is, a set of bits; the zero value is anything.
type Other uint16

// What the other end may be.
const (
	OtherNode       Other = 1 << iota // a node, or a pod on its network
	OtherOutside                      // an address of no pod and no node
	OtherService                      // a Service by its cluster IP
	OtherVIP                          // a pod on another network, through another address of a Service, such as that of its load balancer
	OtherVIPOutside                   // an address of no pod and no node, through such an address
	OtherDNS                          // a pod of the cluster's DNS
	OtherSame                         // a pod on the same network
	OtherPod                          // a pod on another network
	OtherCluster                      // a pod of another cluster
	OtherHosts                        // a Service whose endpoints are no pods, such as that of the API server
)

// wide reports whether it matters to answers about all pods and what is outside.
func (o *Open) wide() bool {
	return o.With&^(OtherNode|OtherService|OtherVIP|OtherVIPOutside|OtherDNS|OtherHosts) != 0 || o.With == 0
}

// concern is which connections it is about.
func (o *Open) concern() concern {
	switch {
	case o.Pod != "":
		return concern{pod: o.Pod}
	case o.Namespace != "":
		return concern{namespace: o.Namespace}
	}
	return concern{open: o}
}

// about reports whether it is about a connection between ends, or about those of a single end.
func (o *Open) about(ends []involved) bool {
	for i := range ends {
		if !slices.Contains(ends[i].networks, o.Network) {
			continue
		}
		if len(ends) == 1 {
			return o.wide()
		}
		for k := range ends {
			if o.Direct && ends[k].other&OtherService != 0 {
				continue
			}
			if k != i && (o.With == 0 || o.With&ends[k].as(o.Network, ends[i].other) != 0) {
				return true
			}
		}
	}
	return false
}

// as is what an end is, seen from a pod on a network, or from a Service with such pods.
func (i *involved) as(network string, from Other) Other {
	out := i.other &^ OtherVIP
	for _, n := range i.networks {
		if n == network {
			out |= OtherSame
		} else {
			out |= OtherPod
		}
	}
	if (i.other|from)&OtherVIP != 0 {
		if out&OtherPod != 0 {
			out |= OtherVIP
		}
		if out&OtherOutside != 0 {
			out |= OtherVIPOutside
		}
	}
	return out
}

// place finds out what an end is for networks, and on which it is.
func (w *World) place(e *End, out *involved) {
	known := w.State.Networks
	if known == nil || len(known.Open) == 0 {
		return
	}
	add := func(k object.Key) {
		if k.Cluster != w.State.Cluster {
			out.other |= OtherCluster
		}
		if known.DNS[k] {
			out.other |= OtherDNS
		}
		if n := known.Of[k]; !slices.Contains(out.networks, n) {
			out.networks = append(out.networks, n)
		}
	}
	switch {
	case e.Service != nil:
		out.other |= OtherService
		for _, f := range e.Service.Frontends {
			for i := range f.Backends {
				pods := w.byAddr[f.Backends[i].Addr]
				if len(pods) == 0 {
					out.other |= OtherHosts
				}
				for _, p := range pods {
					add(p.Key)
				}
			}
		}
	case e.Key != (object.Key{}):
		add(e.Key)
	case e.Kind == name.Address:
		w.placeAddress(e, out, add)
	default: // a node, or a pod on its network
		out.other |= OtherNode
	}
}

func (w *World) placeAddress(e *End, out *involved, add func(object.Key)) {
	for _, a := range e.Addrs {
		pods, frontends := w.byAddr[a], w.doubting().frontends[a]
		for _, p := range pods {
			add(p.Key)
		}
		for _, f := range frontends {
			out.other |= f.other
			for _, k := range f.backends {
				add(k)
			}
		}
		switch {
		case w.nodeOf[a] != "":
			out.other |= OtherNode
		case len(pods)+len(frontends) == 0:
			out.other |= OtherOutside
		}
	}
}

// Judged leaves out of a reading that networks were ignored. The parts of r that it changes are copied before.
func (r *Reading) Judged() {
	r.Ignored = maps.Clone(r.Ignored)
	for i := range r.Networks {
		kind := r.Networks[i].Kind
		if r.Ignored[kind]--; r.Ignored[kind] <= 0 {
			delete(r.Ignored, kind)
		}
	}
	r.Unjudged = slices.DeleteFunc(slices.Clone(r.Unjudged), func(kind string) bool {
		return !slices.ContainsFunc(r.Foreign, func(f Foreign) bool { return f.Kind == kind && !f.network })
	})
}
