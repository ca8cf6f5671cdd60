package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// clusterForm is what the kinds of cluster-wide policies have in common, in the types of ClusterNetworkPolicy.
type clusterForm struct {
	object   metav1.Object
	kind     string
	tier     v1alpha2.Tier
	priority int32
	subject  v1alpha2.ClusterNetworkPolicySubject
	rules    [2][]clusterRule // by direction
}

// clusterRule is an ingress or egress rule.
type clusterRule struct {
	path      string // such as spec.ingress[0]
	name      string
	action    string
	peerField string // "from" or "to"
	peers     []v1alpha2.ClusterNetworkPolicyEgressPeer
	portField string                                  // "protocols" or "ports"
	ports     []v1alpha2.ClusterNetworkPolicyProtocol // nil for any
}

// The names of actions. ClusterNetworkPolicies accept, the older kinds allow.
const (
	actionAccept = string(v1alpha2.ClusterNetworkPolicyRuleActionAccept)
	actionAllow  = string(v1alpha1.AdminNetworkPolicyRuleActionAllow)
	actionDeny   = string(v1alpha2.ClusterNetworkPolicyRuleActionDeny)
	actionPass   = string(v1alpha2.ClusterNetworkPolicyRuleActionPass)
)

// does returns what a rule does, and whether its kind has such an action. An unknown one is treated like Deny, which fails closed most
// broadly.
func (f *clusterForm) does(r *clusterRule) (intent.Action, bool) {
	switch {
	case r.action == acceptWord(f.kind):
		return intent.Allow, true
	case r.action == actionDeny:
		return intent.Deny, true
	case r.action == actionPass && f.kind != object.KindBaselineAdminNetworkPolicy:
		return intent.Pass, true
	default:
		return intent.Deny, false
	}
}

// actionWords lists the actions of the kind of policy.
func (f *clusterForm) actionWords() string {
	if f.kind == object.KindBaselineAdminNetworkPolicy {
		return acceptWord(f.kind) + " or Deny"
	}
	return acceptWord(f.kind) + ", Deny or Pass"
}

// acceptWord is what the kind of policy calls the action that accepts.
func acceptWord(kind string) string {
	if kind == object.KindClusterNetworkPolicy {
		return actionAccept
	}
	return actionAllow
}

// outcome describes the effect of a rule with the given action that cannot be understood.
func outcome(action intent.Action) string {
	if action == intent.Allow {
		return "matches nothing"
	}
	return "denies everything"
}

func newClusterRule(
	d intent.Direction, i int, name, action, portField string, ports []v1alpha2.ClusterNetworkPolicyProtocol,
) clusterRule {
	field := "from"
	if d == intent.Egress {
		field = "to"
	}
	return clusterRule{
		path: fmt.Sprintf("spec.%s[%d]", d, i), name: name, action: action, peerField: field, portField: portField, ports: ports,
	}
}

func setProtocol(to *v1alpha2.ClusterNetworkPolicyProtocol, protocol corev1.Protocol, port *v1alpha2.Port) {
	switch protocol {
	case corev1.ProtocolTCP, "":
		to.TCP = &v1alpha2.ClusterNetworkPolicyProtocolTCP{DestinationPort: port}
	case corev1.ProtocolUDP:
		to.UDP = &v1alpha2.ClusterNetworkPolicyProtocolUDP{DestinationPort: port}
	case corev1.ProtocolSCTP:
		to.SCTP = &v1alpha2.ClusterNetworkPolicyProtocolSCTP{DestinationPort: port}
	}
}
