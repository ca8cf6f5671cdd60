package world

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// The API groups whose objects are looked into.
const (
	groupOVNKubernetes = "k8s.ovn.org"
	groupKubeOVN       = "kubeovn.io"
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

func isPrimary(role string) bool { return strings.EqualFold(role, "Primary") }

// DefaultVPC is the VPC of kube-ovn in which pods are unless a Subnet has another.
const DefaultVPC = "ovn-cluster"
