package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/object"
)

// Notes lists what was left out, one line each.
func (r *Reading) Notes() []string {
	var out []string
	if len(r.Ignored) > 0 {
		out = append(out, "ignored: "+countsText(r.Ignored))
	}
	return append(out, r.Hints...)
}

// countsText formats counts by kind, the largest first.
func countsText(of map[string]int) string {
	kinds := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(kinds, func(a, b string) int { return of[b] - of[a] })
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = fmt.Sprintf("%d %s", of[k], k)
	}
	return strings.Join(words, ", ")
}

// firewallDoubts are those about EgressFirewalls: where they are part of the answer, about those that name destinations by DNS.
func (s *State) firewallDoubts(about func(concern) bool) []string {
	var names []string
	for _, f := range s.Objects.Firewalls {
		unknown := !s.Firewalls || slices.ContainsFunc(f.Spec.Egress, func(r ovnkubernetes.EgressFirewallRule) bool { return r.To.DNSName != "" })
		if unknown && about(concern{namespace: f.Namespace}) {
			names = append(names, f.Namespace+"/"+f.Name)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case !s.Firewalls:
		return []string{"not evaluated here, although they decide on connections: " + counted(len(names), "EgressFirewall")}
	}
	slices.Sort(names)
	return []string{"EgressFirewalls name destinations by DNS, whose addresses are not known: " + firstOf(names)}
}

// unread lists the kinds that a cluster did not let be read, and on which answers depend: cluster-wide policies, and namespaces if policies
// select them by labels that only their objects have.
func (s *State) unread() []string {
	if s.Reading == nil || !s.Reading.Live {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Unavailable), func(kind string) bool {
		return !object.IsClusterPolicy(kind) && (kind != object.KindNamespace || !slices.ContainsFunc(s.Objects.Policies, selectsByLabels))
	})
}

// selectsByLabels reports whether a policy has a peer of namespaces with certain labels.
func selectsByLabels(p *networkingv1.NetworkPolicy) bool {
	selects := func(peer networkingv1.NetworkPolicyPeer) bool {
		by := peer.NamespaceSelector
		return by != nil && len(by.MatchLabels)+len(by.MatchExpressions) > 0
	}
	return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return slices.ContainsFunc(r.From, selects) }) ||
		slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool { return slices.ContainsFunc(r.To, selects) })
}

// Unaddressed lists the pods that take part in no connection because they have no address yet. Those that are being deleted will have
// none.
func (s *State) Unaddressed() []string {
	ends := map[string]bool{}
	for _, p := range s.Objects.Pods {
		if p.DeletionTimestamp != nil {
			ends[p.Namespace+"/"+p.Name] = true
		}
	}
	var out []string
	for e := range s.View.Endpoints() {
		if full := e.Key.Namespace + "/" + e.Key.Name; e.Key.Cluster == s.Cluster && len(e.AllAddrs()) == 0 && !ends[full] {
			out = append(out, full)
		}
	}
	slices.Sort(out)
	return out
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
