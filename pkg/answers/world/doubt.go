package world

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/object"
)

// Doubts lists why answers about the whole state are incomplete, one line each; none if they are complete. Without pods there is nothing
// to judge; what cannot be read, or has no address, may allow or deny anything.
func (s *State) Doubts() []string {
	return s.doubts(func(c concern) bool { return c.open == nil || c.open.wide() })
}

// doubts lists the doubts that are about certain connections.
func (s *State) doubts(about func(concern) bool) []string {
	var out []string
	problems := 0
	for i := range s.Problems {
		if about(concernOf(s.Problems[i].Ref)) {
			problems++
		}
	}
	if problems > 0 {
		out = append(out, counted(problems, "problem"))
	}
	if s.Reading != nil {
		out = append(out, s.Reading.doubts(s.Networks != nil, about)...)
	}
	if s.Networks != nil {
		for i := range s.Networks.Open {
			if o := &s.Networks.Open[i]; about(o.concern()) && !slices.Contains(out, o.Text) {
				out = append(out, o.Text)
			}
		}
	}
	if unread := s.unread(); len(unread) > 0 && about(concern{}) {
		out = append(out, "may decide on connections, and could not be read: "+firstOf(unread))
	}
	out = append(out, s.firewallDoubts(about)...)
	if s.Reading != nil && !s.Reading.Live {
		var names []string
		for _, full := range s.Unaddressed() {
			if about(concern{pod: full}) {
				names = append(names, full)
			}
		}
		if len(names) > 0 {
			out = append(out, counted(len(names), "pod")+" without an address: "+firstOf(names))
		}
	}
	if s.Unread != "" && about(concern{}) {
		out = append(out, s.Unread)
	}
	for i := range s.Others {
		of := &s.Others[i]
		for _, d := range of.doubts(func(c concern) bool { return about(c.in(of)) }) {
			out = append(out, "cluster "+of.Cluster+": "+d)
		}
	}
	return out
}

// Doubts lists what was left out of a reading and may decide on connections; nothing for nil.
func (r *Reading) Doubts() []string {
	if r == nil {
		return nil
	}
	return r.doubts(false, func(concern) bool { return true })
}

// doubts lists what was left out of a reading. Networks may have been evaluated.
func (r *Reading) doubts(networks bool, about func(concern) bool) []string {
	var out []string
	if about(concern{}) {
		for _, what := range r.Empty {
			out = append(out, "no object was read from "+what)
		}
	}
	if len(r.Unlisted) > 0 && about(concern{}) {
		out = append(out, "may decide on connections, and could not be listed: "+firstOf(r.Unlisted))
	}
	of := map[string]int{}
	for i := range r.Foreign {
		if r.Foreign[i].network && networks {
			continue
		}
		if slices.ContainsFunc(r.Foreign[i].concerns(), about) {
			of[r.Foreign[i].Kind]++
		}
	}
	if len(of) > 0 {
		out = append(out, unjudgedText(of))
	}
	return out
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
