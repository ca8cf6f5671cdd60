package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// Object is an SD-WAN object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Key names an SD-WAN object.
type Key = object.Ref

// finalizerDomain ends the names of all finalizers.
const finalizerDomain = "finalizers.sdewan.akraino.org"

// Finalizer is the name that keeps objects of a kind until no gateway holds them, the one that ICN SD-EWAN uses; "" for a
// kind that no gateway holds.
func Finalizer(kind string) string {
	var prefix string
	switch kind {
	case "Mwan3Policy", "Mwan3Rule", "FirewallZone", "FirewallRule", "CNFRoute", "CNFRouteRule", "SdewanApplication":
		prefix = "rule"
	case "FirewallSNAT":
		prefix = "snat"
	case "FirewallDNAT":
		prefix = "dnat"
	case "FirewallForwarding":
		prefix = "forwarding"
	case "NetworkFirewallRule":
		prefix = "networkfirewallrule"
	case "IpsecProposal":
		prefix = "proposal"
	case "IpsecSite":
		prefix = "ipsec.site"
	case "IpsecHost":
		prefix = "ipsec.host"
	case "CNFNAT":
		prefix = "cnfnat"
	case "CNFService":
		prefix = "cnfservice"
	case "CNFLocalService":
		prefix = "cnflocalservice"
	case "CNFHubSite":
		prefix = "cnfhubsite"
	default:
		return ""
	}
	return prefix + "." + finalizerDomain
}

// KindOf is the kind of an object; "" when it is none of SD-WAN's. Objects as clients decode them do not say it themselves.
func KindOf(o runtime.Object) string {
	kind, _ := look(o)
	return kind
}

// look is the kind of an object and a pointer to its status.
func look(o runtime.Object) (kind string, status any) {
	switch o := o.(type) {
	case *v1alpha1.CNFHubSite:
		return "CNFHubSite", &o.Status
	case *v1alpha1.CNFLocalService:
		return "CNFLocalService", &o.Status
	case *v1alpha1.CNFNAT:
		return "CNFNAT", &o.Status
	case *v1alpha1.CNFRoute:
		return "CNFRoute", &o.Status
	case *v1alpha1.CNFRouteRule:
		return "CNFRouteRule", &o.Status
	case *v1alpha1.CNFService:
		return "CNFService", &o.Status
	case *v1alpha1.CNFStatus:
		return "CNFStatus", &o.Status
	case *v1alpha1.FirewallDNAT:
		return "FirewallDNAT", &o.Status
	case *v1alpha1.FirewallForwarding:
		return "FirewallForwarding", &o.Status
	case *v1alpha1.FirewallRule:
		return "FirewallRule", &o.Status
	case *v1alpha1.FirewallSNAT:
		return "FirewallSNAT", &o.Status
	case *v1alpha1.FirewallZone:
		return "FirewallZone", &o.Status
	case *v1alpha1.IpsecHost:
		return "IpsecHost", &o.Status
	case *v1alpha1.IpsecProposal:
		return "IpsecProposal", &o.Status
	case *v1alpha1.IpsecSite:
		return "IpsecSite", &o.Status
	case *v1alpha1.Mwan3Policy:
		return "Mwan3Policy", &o.Status
	case *v1alpha1.Mwan3Rule:
		return "Mwan3Rule", &o.Status
	case *v1alpha1.NetworkFirewallRule:
		return "NetworkFirewallRule", &o.Status
	case *v1alpha1.SdewanApplication:
		return "SdewanApplication", &o.Status
	default:
		return "", nil
	}
}
