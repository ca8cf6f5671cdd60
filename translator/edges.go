package translator

import (
	"fmt"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// AdoptAnnotation on an SD-WAN resource names the object, made by hand on the gateways, that it takes over.
const AdoptAnnotation = "netloom.io/adopt"

// EdgeOptions says how gateways are found and what is done for Services. The zero value keeps to the namespace of each
// object and leaves Services alone.
type EdgeOptions struct {
	// ClusterWide has an object mean the gateways of its purpose in every namespace.
	ClusterWide bool
	// ServiceRules says which Services are reachable at the gateways, under their own ports.
	ServiceRules ServiceRules
	// ServicePurpose is the purpose of Services that have no label, with ServiceRulesAll; "" leaves those alone.
	ServicePurpose string
}

// ServiceRules is a choice of Services.
type ServiceRules uint8

// The choices: no Service, those with the label sdewanPurpose, or all.
const (
	ServiceRulesOff ServiceRules = iota
	ServiceRulesLabelled
	ServiceRulesAll
)

var serviceRulesNames = [...]string{"off", "labelled", "all"}

// String is the choice in a word.
func (r ServiceRules) String() string {
	if int(r) < len(serviceRulesNames) {
		return serviceRulesNames[r]
	}
	return fmt.Sprintf("service rules %d", uint8(r))
}

// ParseServiceRules reads a choice. The empty string is off.
func ParseServiceRules(text string) (ServiceRules, error) {
	for i, n := range serviceRulesNames {
		if n == text {
			return ServiceRules(i), nil
		}
	}
	if text == "" {
		return ServiceRulesOff, nil
	}
	return ServiceRulesOff, fmt.Errorf("%q: expected off, labelled or all", text)
}

// SetUnknown says of which areas nothing is known, because their sources could not be read. The next snapshot says so.
func (t *Translator) SetUnknown(areas intent.Areas) { t.unknown = areas }

// SetHost says which addresses a DNS name has; none says that it does not resolve.
func (t *Translator) SetHost(name string, addrs []netip.Addr) {}

// Hosts lists the DNS names whose addresses are wanted, sorted. It speaks of the objects as of the last Snapshot.
func (t *Translator) Hosts() []string { return nil }

// edgeObject is an SD-WAN resource and its kind. It is false for anything else.
func edgeObject(object any) (kind string, o metav1.Object, ok bool) {
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
		return "FirewallZone", o, true
	case *v1alpha1.IpsecHost:
		return "IpsecHost", o, true
	case *v1alpha1.IpsecProposal:
		return "IpsecProposal", o, true
	case *v1alpha1.IpsecSite:
		return "IpsecSite", o, true
	case *v1alpha1.Mwan3Policy:
		return "Mwan3Policy", o, true
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
