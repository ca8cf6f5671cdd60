package watch

import (
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// Those of the kinds of SD-WAN resources that are named here and there; SDWANKinds lists all.
const (
	KindCNFNAT        Kind = "CNFNAT"
	KindCNFService    Kind = "CNFService"
	KindCNFStatus     Kind = "CNFStatus"
	KindFirewallRule  Kind = "FirewallRule"
	KindFirewallZone  Kind = "FirewallZone"
	KindIpsecHost     Kind = "IpsecHost"
	KindIpsecProposal Kind = "IpsecProposal"
	KindIpsecSite     Kind = "IpsecSite"
	KindMwan3Policy   Kind = "Mwan3Policy"
	KindMwan3Rule     Kind = "Mwan3Rule"
)

// SDWANKinds lists the kinds of SD-WAN resources, in alphabetical order.
func SDWANKinds() []Kind {
	all := v1alpha1.Resources()
	kinds := make([]Kind, len(all))
	for i, r := range all {
		kinds[i] = r.Kind
	}
	return kinds
}
