package world

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Foreign is an object of a kind that netloom does not evaluate, although it decides on connections.
type Foreign struct {
	Kind string
	// Namespaces are those of the pods that it concerns; nil if that may be any.
	Namespaces []string
	network    bool // it is among the networks, which may be evaluated
}

// foreignObject is what is read of the object of such a kind.
type foreignObject struct {
	Metadata struct{ Name string }
	Spec     NetworkSpec
}

// scopeOf finds out which namespaces an object concerns, nil for all, and whether it decides at all.
type scopeOf func(namespace string, o *foreignObject) (namespaces []string, decides bool)

func anywhere(string, *foreignObject) ([]string, bool) { return nil, true }

func ofNamespace(namespace string, _ *foreignObject) ([]string, bool) {
	if namespace == "" {
		return nil, true
	}
	return []string{namespace}, true
}

// ofMesh is the scope of a policy of Istio: in the root namespace, it is for all.
func ofMesh(namespace string, _ *foreignObject) ([]string, bool) {
	if namespace == "istio-system" {
		return nil, true
	}
	return []string{namespace}, true
}

// ofUserNetwork is the scope of a UserDefinedNetwork: only a primary one isolates its pods from the default network.
func ofUserNetwork(namespace string, o *foreignObject) ([]string, bool) {
	return []string{namespace}, o.Spec.Primary()
}

func ofClusterNetwork(_ string, o *foreignObject) ([]string, bool) {
	return named(&o.Spec.NamespaceSelector), o.Spec.Network.Primary()
}

// named lists the namespaces that a selector demands by name; nil if it does not.
func named(s *metav1.LabelSelector) []string {
	if name, ok := s.MatchLabels[corev1.LabelMetadataName]; ok {
		return []string{name}
	}
	for _, e := range s.MatchExpressions {
		if e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpIn {
			return e.Values
		}
	}
	return nil
}

// ofSubnet is the scope of a Subnet: one that is private, that has ACLs, or that is in another VPC than the default one separates its pods.
func ofSubnet(_ string, o *foreignObject) ([]string, bool) {
	vpc := o.Spec.VPC
	return namespacesOf(o), o.Spec.Private || len(o.Spec.ACLs) > 0 || vpc != "" && vpc != DefaultVPC
}

// ofVPC is the scope of a Vpc: the default one separates nothing.
func ofVPC(_ string, o *foreignObject) ([]string, bool) {
	return namespacesOf(o), o.Metadata.Name != DefaultVPC
}

// ofOtherNetworks is the scope of an object that only matters to networks that others make.
func ofOtherNetworks(string, *foreignObject) ([]string, bool) { return nil, false }

func namespacesOf(o *foreignObject) []string {
	if len(o.Spec.Namespaces) == 0 {
		return nil
	}
	return o.Spec.Namespaces
}

// egressFirewall is evaluated where it is read: its spec has to stay.
const egressFirewall = groupOVNKubernetes + "/EgressFirewall"

// foreignKinds lists the kinds by API group and kind. Kinds that only name sets, route or shape traffic are not among them.
func foreignKinds() map[string]scopeOf {
	out := map[string]scopeOf{
		groupOVNKubernetes + "/UserDefinedNetwork":        ofUserNetwork,
		groupOVNKubernetes + "/ClusterUserDefinedNetwork": ofClusterNetwork,
		groupOVNKubernetes + "/ClusterNetworkConnect":     ofOtherNetworks,
		groupOVNKubernetes + "/RouteAdvertisements":       ofOtherNetworks,
		groupKubeOVN + "/Subnet":                          ofSubnet,
		groupKubeOVN + "/Vpc":                             ofVPC,
		"security.istio.io/AuthorizationPolicy":           ofMesh,
		"security.istio.io/PeerAuthentication":            ofMesh,
	}
	for _, kind := range []string{
		"cilium.io/CiliumClusterwideNetworkPolicy", "isovalent.com/IsovalentClusterwideNetworkPolicy",
		"crd.antrea.io/ClusterNetworkPolicy", "projectcalico.org/GlobalNetworkPolicy", "crd.projectcalico.org/GlobalNetworkPolicy",
		"kubeovn.io/SecurityGroup", "networking.k8s.aws/ClusterNetworkPolicy", "kuma.io/TrafficPermission",
		"network.openshift.io/NetNamespace",
	} {
		out[kind] = anywhere
	}
	for _, kind := range []string{
		"cilium.io/CiliumNetworkPolicy", "cilium.io/CiliumLocalRedirectPolicy", "isovalent.com/IsovalentNetworkPolicy",
		"crd.antrea.io/NetworkPolicy", "projectcalico.org/NetworkPolicy", "crd.projectcalico.org/NetworkPolicy",
		"k8s.cni.cncf.io/MultiNetworkPolicy", "policy.linkerd.io/Server", "policy.linkerd.io/ServerAuthorization",
		"policy.linkerd.io/AuthorizationPolicy", "kuma.io/MeshTrafficPermission", "consul.hashicorp.com/ServiceIntentions",
		"networking.gke.io/FQDNNetworkPolicy", "networking.k8s.aws/ApplicationNetworkPolicy", "vpcresources.k8s.aws/SecurityGroupPolicy",
		"network.openshift.io/EgressNetworkPolicy", egressFirewall, "crd.nsx.vmware.com/SecurityPolicy",
	} {
		out[kind] = ofNamespace
	}
	return out
}

// ForeignKinds lists the kinds that are known to decide on connections, as "GROUP/KIND", sorted.
func ForeignKinds() []string { return slices.Sorted(maps.Keys(foreignKinds())) }

// MayDecide reports whether objects of a kind may decide on connections: those that are known to, and those of unknown groups that are called
// network policies.
func MayDecide(group, kind string) bool {
	return foreignKinds()[group+"/"+kind] != nil || strings.HasSuffix(kind, "NetworkPolicy")
}

// InGroup reports whether kinds of an API group are known to decide on connections.
func InGroup(group string) bool {
	for kind := range foreignKinds() {
		if strings.HasPrefix(kind, group+"/") {
			return true
		}
	}
	return false
}

// LooksInto reports whether the spec of an object matters to ForeignOf.
func LooksInto(group, kind string) bool {
	return group+"/"+kind == egressFirewall || (group == groupOVNKubernetes || group == groupKubeOVN) && foreignKinds()[group+"/"+kind] != nil
}

// ForeignOf reads an object of a kind that may decide on connections; false if it does not decide. The namespace is "" for one that has none.
func ForeignOf(group, kind, namespace string, content []byte) (Foreign, bool) {
	var o foreignObject
	scope := foreignKinds()[group+"/"+kind]
	switch {
	case scope == nil && namespace == "":
		scope = anywhere
	case scope == nil:
		scope = ofNamespace
	}
	if (group == groupOVNKubernetes || group == groupKubeOVN) && json.Unmarshal(content, &o) != nil {
		scope = anywhere // what it says cannot be read
	}
	namespaces, decides := scope(namespace, &o)
	return Foreign{Kind: kind, Namespaces: namespaces}, decides
}
