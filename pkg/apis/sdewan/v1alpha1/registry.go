package v1alpha1

import (
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kinds that other kinds refer to.
const (
	KindFirewallZone  = "FirewallZone"
	KindIpsecProposal = "IpsecProposal"
	KindMwan3Policy   = "Mwan3Policy"
)

// Object is an object of one of the kinds here.
//
// +kubebuilder:object:generate=false
type Object interface {
	runtime.Object
	metav1.Object
}

// Resource describes a kind, apart from its fields. A new kind is a new row of the registry.
//
// +kubebuilder:object:generate=false
type Resource struct {
	Kind   string
	Plural string // its name in the URLs of the API
	// Finalizer is the prefix of the finalizer that ICN SD-EWAN sets on objects of the kind; "" for a kind that no device
	// stores.
	Finalizer string
	// RefersTo is the kind of the objects that fields of the kind refer to, see ReferencesOf; "" if there are none.
	RefersTo string
	// Referenced reports whether objects of another kind refer to this one.
	Referenced bool

	object, list reflect.Type
	status       func(any) any // a pointer to the status of an object of the kind
}

// New makes an empty object of the kind.
func (r Resource) New() Object {
	return reflect.New(r.object).Interface().(Object) //nolint:forcetypeassert // see resource
}

func (r Resource) newList() runtime.Object {
	return reflect.New(r.list).Interface().(runtime.Object) //nolint:forcetypeassert // see resource
}

// registry has a row for every kind, in alphabetical order.
var registry = sync.OnceValue(func() *table {
	return newTable(
		resource[*CNFHubSite, *CNFHubSiteList]("cnfhubsites", "cnfhubsite", "", func(o *CNFHubSite) any { return &o.Status }),
		resource[*CNFLocalService, *CNFLocalServiceList]("cnflocalservices", "cnflocalservice", "", func(o *CNFLocalService) any { return &o.Status }),
		resource[*CNFNAT, *CNFNATList]("cnfnats", "cnfnat", "", func(o *CNFNAT) any { return &o.Status }),
		resource[*CNFRoute, *CNFRouteList]("cnfroutes", "rule", "", func(o *CNFRoute) any { return &o.Status }),
		resource[*CNFRouteRule, *CNFRouteRuleList]("cnfrouterules", "rule", "", func(o *CNFRouteRule) any { return &o.Status }),
		resource[*CNFService, *CNFServiceList]("cnfservices", "cnfservice", "", func(o *CNFService) any { return &o.Status }),
		resource[*CNFStatus, *CNFStatusList]("cnfstatuses", "", "", func(o *CNFStatus) any { return &o.Status }),
		resource[*FirewallDNAT, *FirewallDNATList]("firewalldnats", "dnat", KindFirewallZone, func(o *FirewallDNAT) any { return &o.Status }),
		resource[*FirewallForwarding, *FirewallForwardingList]("firewallforwardings", "forwarding", KindFirewallZone, func(o *FirewallForwarding) any { return &o.Status }),
		resource[*FirewallRule, *FirewallRuleList]("firewallrules", "rule", KindFirewallZone, func(o *FirewallRule) any { return &o.Status }),
		resource[*FirewallSNAT, *FirewallSNATList]("firewallsnats", "snat", KindFirewallZone, func(o *FirewallSNAT) any { return &o.Status }),
		resource[*FirewallZone, *FirewallZoneList]("firewallzones", "rule", "", func(o *FirewallZone) any { return &o.Status }),
		resource[*IpsecHost, *IpsecHostList]("ipsechosts", "ipsec.host", KindIpsecProposal, func(o *IpsecHost) any { return &o.Status }),
		resource[*IpsecProposal, *IpsecProposalList]("ipsecproposals", "proposal", "", func(o *IpsecProposal) any { return &o.Status }),
		resource[*IpsecSite, *IpsecSiteList]("ipsecsites", "ipsec.site", KindIpsecProposal, func(o *IpsecSite) any { return &o.Status }),
		resource[*Mwan3Policy, *Mwan3PolicyList]("mwan3policies", "rule", "", func(o *Mwan3Policy) any { return &o.Status }),
		resource[*Mwan3Rule, *Mwan3RuleList]("mwan3rules", "rule", KindMwan3Policy, func(o *Mwan3Rule) any { return &o.Status }),
		resource[*NetworkFirewallRule, *NetworkFirewallRuleList]("networkfirewallrules", "networkfirewallrule", "", func(o *NetworkFirewallRule) any { return &o.Status }),
		resource[*SdewanApplication, *SdewanApplicationList]("sdewanapplications", "rule", "", func(o *SdewanApplication) any { return &o.Status }),
	)
})

// table is the registry with its indexes.
type table struct {
	rows   []Resource
	byKind map[string]*Resource
	byType map[reflect.Type]*Resource
}

func newTable(rows ...Resource) *table {
	t := &table{rows: rows, byKind: map[string]*Resource{}, byType: map[reflect.Type]*Resource{}}
	for i := range rows {
		t.byKind[rows[i].Kind] = &rows[i]
		t.byType[reflect.PointerTo(rows[i].object)] = &rows[i]
	}
	for i := range rows {
		if to := t.byKind[rows[i].RefersTo]; to != nil {
			to.Referenced = true
		}
	}
	return t
}

// resource returns the row of the kind whose objects have type O and whose lists have type L.
func resource[O Object, L runtime.Object](plural, finalizer, refersTo string, status func(O) any) Resource {
	object, list := reflect.TypeFor[O]().Elem(), reflect.TypeFor[L]().Elem()
	return Resource{
		Kind: object.Name(), Plural: plural, Finalizer: finalizer, RefersTo: refersTo, object: object, list: list,
		status: func(o any) any { return status(o.(O)) }, //nolint:forcetypeassert // it is looked up by its type
	}
}

// Resources lists every kind, in alphabetical order. The list is shared: it must not be changed.
func Resources() []Resource { return registry().rows }

// ResourceOfKind returns the row of a kind; false if it is not an SD-WAN kind.
func ResourceOfKind(kind string) (Resource, bool) {
	if r := registry().byKind[kind]; r != nil {
		return *r, true
	}
	return Resource{}, false
}

// ResourceOf returns the row of an object and a pointer to its status, or false for any other type. Objects decoded by a
// client do not have their kind set.
func ResourceOf(o any) (r Resource, status any, ok bool) {
	if r := registry().byType[reflect.TypeOf(o)]; r != nil {
		return *r, r.status(o), true
	}
	return Resource{}, nil, false
}
