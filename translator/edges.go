package translator

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

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

// edgeTable holds what translations for gateways depend on besides their own object.
type edgeTable struct {
	lookers map[objectKey]map[objectKey]bool // who looks at an object or a host, whether or not it exists
	hosts   hostTable
	claims  portClaims
}

func newEdgeTable() edgeTable {
	return edgeTable{lookers: map[objectKey]map[objectKey]bool{}, hosts: newHostTable(), claims: portClaims{}}
}

// add notes that an object looks at another.
func (e *edgeTable) add(looker, at objectKey) {
	if e.lookers[at] == nil {
		e.lookers[at] = map[objectKey]bool{}
		if at.kind == kindHost {
			e.hosts.want(at.name)
		}
	}
	e.lookers[at][looker] = true
}

// drop notes that it no longer does.
func (e *edgeTable) drop(looker, at objectKey) {
	delete(e.lookers[at], looker)
	if len(e.lookers[at]) == 0 {
		delete(e.lookers, at)
		if at.kind == kindHost {
			e.hosts.unwant(at.name)
		}
	}
}

// touch has those translated anew who look at an object.
func (t *Translator) touch(at objectKey) { maps.Copy(t.dirty, t.edges.lookers[at]) }

// track brings what translations depend on in step with a new one. Nil is none.
func (t *Translator) track(key objectKey, old, now *translation) {
	old, now = cmp.Or(old, &translation{}), cmp.Or(now, &translation{})
	for _, at := range now.looks {
		t.edges.add(key, at)
	}
	for _, at := range old.looks {
		if !slices.Contains(now.looks, at) {
			t.edges.drop(key, at)
		}
	}
	for _, rival := range t.edges.claims.replace(old.claims, now.claims) {
		t.dirty[rival] = true
	}
	if old.offer != now.offer {
		t.touch(key)
	}
}

// putEdges writes the edge intents that differ. What comes out as it was is left alone.
func putEdges(next *intent.Builder, old, now *translation) {
	before := map[intent.EdgeID]*intent.EdgeIntent{}
	if old != nil {
		for _, e := range old.edges {
			before[e.ID] = e
		}
	}
	if now != nil {
		for i, e := range now.edges {
			if was := before[e.ID]; was != nil && reflect.DeepEqual(was, e) {
				now.edges[i] = was
			} else {
				next.PutEdgeIntent(e)
			}
			delete(before, e.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		next.DropEdgeIntent(id)
	}
}

// SetUnknown says of which areas nothing is known, because their sources could not be read. The next snapshot says so.
// Without load balancers, Services that is, nothing is known of edges either where those are made of Services, and names of
// Services are for DNS to resolve.
func (t *Translator) SetUnknown(areas intent.Areas) {
	if t.unknown.Has(intent.AreaBalancers) != areas.Has(intent.AreaBalancers) {
		for at := range t.edges.lookers {
			if at.kind == KindService {
				t.touch(at)
			}
		}
	}
	t.unknown = areas
}

// unknownAreas are those that the snapshot knows nothing of.
func (t *Translator) unknownAreas() intent.Areas {
	if t.unknown.Has(intent.AreaBalancers) && t.options.ServiceRules != ServiceRulesOff {
		return t.unknown | intent.AreaEdges
	}
	return t.unknown
}

// The kinds that others refer to.
const (
	kindFirewallZone  = "FirewallZone"
	kindIpsecProposal = "IpsecProposal"
	kindMwan3Policy   = "Mwan3Policy"
)

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

// compareRank is compare, but those whom others refer to come first: then what refers to them is translated once.
func (k objectKey) compareRank(o objectKey) int {
	rank := func(k objectKey) int {
		switch k.kind {
		case kindFirewallZone, kindIpsecProposal, kindMwan3Policy:
			return 0
		default:
			return 1
		}
	}
	return cmp.Or(cmp.Compare(rank(k), rank(o)), k.compare(o))
}
