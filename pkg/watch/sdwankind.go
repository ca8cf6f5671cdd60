package watch

import (
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// The kinds of SD-WAN resources, which sources deliver as the types of pkg/apis/sdewan/v1alpha1.
const (
	KindCNFHubSite          Kind = "CNFHubSite"
	KindCNFLocalService     Kind = "CNFLocalService"
	KindCNFNAT              Kind = "CNFNAT"
	KindCNFRoute            Kind = "CNFRoute"
	KindCNFRouteRule        Kind = "CNFRouteRule"
	KindCNFService          Kind = "CNFService"
	KindCNFStatus           Kind = "CNFStatus"
	KindFirewallDNAT        Kind = "FirewallDNAT"
	KindFirewallForwarding  Kind = "FirewallForwarding"
	KindFirewallRule        Kind = "FirewallRule"
	KindFirewallSNAT        Kind = "FirewallSNAT"
	KindFirewallZone        Kind = "FirewallZone"
	KindIpsecHost           Kind = "IpsecHost"
	KindIpsecProposal       Kind = "IpsecProposal"
	KindIpsecSite           Kind = "IpsecSite"
	KindMwan3Policy         Kind = "Mwan3Policy"
	KindMwan3Rule           Kind = "Mwan3Rule"
	KindNetworkFirewallRule Kind = "NetworkFirewallRule"
	KindSdewanApplication   Kind = "SdewanApplication"
)

// SDWANKinds lists the kinds of SD-WAN resources, in alphabetical order.
func SDWANKinds() []Kind {
	all := v1alpha1.Resources()
	kinds := make([]Kind, len(all))
	for i, r := range all {
		kinds[i] = Kind(r.Kind)
	}
	return kinds
}
