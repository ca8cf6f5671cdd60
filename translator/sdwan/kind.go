package sdwan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// resourceOf is an SD-WAN resource and its kind. It is false for anything else.
func resourceOf(object any) (kind string, o metav1.Object, ok bool) {
	switch o := object.(type) {
	case *v1alpha1.CNFHubSite:
		return "CNFHubSite", o, true
	case *v1alpha1.CNFLocalService:
		return "CNFLocalService", o, true
	case *v1alpha1.CNFNAT:
		return "CNFNAT", o, true
	case *v1alpha1.CNFRoute:
		return "CNFRoute", o, true
	case *v1alpha1.CNFRouteRule:
		return "CNFRouteRule", o, true
	case *v1alpha1.CNFService:
		return "CNFService", o, true
	case *v1alpha1.CNFStatus:
		return "CNFStatus", o, true
	case *v1alpha1.FirewallDNAT:
		return "FirewallDNAT", o, true
	case *v1alpha1.FirewallForwarding:
		return "FirewallForwarding", o, true
	case *v1alpha1.FirewallRule:
		return "FirewallRule", o, true
	case *v1alpha1.FirewallSNAT:
		return "FirewallSNAT", o, true
	case *v1alpha1.FirewallZone:
		return kindFirewallZone, o, true
	case *v1alpha1.IpsecHost:
		return "IpsecHost", o, true
	case *v1alpha1.IpsecProposal:
		return kindIpsecProposal, o, true
	case *v1alpha1.IpsecSite:
		return "IpsecSite", o, true
	case *v1alpha1.Mwan3Policy:
		return kindMwan3Policy, o, true
	case *v1alpha1.Mwan3Rule:
		return "Mwan3Rule", o, true
	case *v1alpha1.NetworkFirewallRule:
		return "NetworkFirewallRule", o, true
	case *v1alpha1.SdewanApplication:
		return "SdewanApplication", o, true
	default:
		return "", nil, false
	}
}
