package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version are what apiVersion is made of.
const (
	Group   = "batch.sdewan.akraino.org"
	Version = "v1alpha1"
)

// Labels of objects.
const (
	// LabelPurpose says for which CNF an object is: the one that carries the same value. An object without it is for none.
	LabelPurpose = "sdewanPurpose"
	// LabelBucketType says which permission is needed to write an object; upstream uses basic, app-intent and k8s-service.
	// Without it no permission beyond that of the API is needed.
	LabelBucketType = "sdewan-bucket-type"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// Resource is a kind and its name in addresses of the API.
type Resource struct {
	Kind   string
	Plural string
}

// Resources lists every kind, in alphabetical order.
func Resources() []Resource {
	return []Resource{
		{"CNFHubSite", "cnfhubsites"},
		{"CNFLocalService", "cnflocalservices"},
		{"CNFNAT", "cnfnats"},
		{"CNFRoute", "cnfroutes"},
		{"CNFRouteRule", "cnfrouterules"},
		{"CNFService", "cnfservices"},
		{"CNFStatus", "cnfstatuses"},
		{"FirewallDNAT", "firewalldnats"},
		{"FirewallForwarding", "firewallforwardings"},
		{"FirewallRule", "firewallrules"},
		{"FirewallSNAT", "firewallsnats"},
		{"FirewallZone", "firewallzones"},
		{"IpsecHost", "ipsechosts"},
		{"IpsecProposal", "ipsecproposals"},
		{"IpsecSite", "ipsecsites"},
		{"Mwan3Policy", "mwan3policies"},
		{"Mwan3Rule", "mwan3rules"},
		{"NetworkFirewallRule", "networkfirewallrules"},
		{"SdewanApplication", "sdewanapplications"},
	}
}

// AddToScheme makes s know every kind. It returns no error; the signature is the one that clients want.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&CNFHubSite{}, &CNFHubSiteList{},
		&CNFLocalService{}, &CNFLocalServiceList{},
		&CNFNAT{}, &CNFNATList{},
		&CNFRoute{}, &CNFRouteList{},
		&CNFRouteRule{}, &CNFRouteRuleList{},
		&CNFService{}, &CNFServiceList{},
		&CNFStatus{}, &CNFStatusList{},
		&FirewallDNAT{}, &FirewallDNATList{},
		&FirewallForwarding{}, &FirewallForwardingList{},
		&FirewallRule{}, &FirewallRuleList{},
		&FirewallSNAT{}, &FirewallSNATList{},
		&FirewallZone{}, &FirewallZoneList{},
		&IpsecHost{}, &IpsecHostList{},
		&IpsecProposal{}, &IpsecProposalList{},
		&IpsecSite{}, &IpsecSiteList{},
		&Mwan3Policy{}, &Mwan3PolicyList{},
		&Mwan3Rule{}, &Mwan3RuleList{},
		&NetworkFirewallRule{}, &NetworkFirewallRuleList{},
		&SdewanApplication{}, &SdewanApplicationList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
