package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
)

// policyWord is in the names of kinds that allow or deny connections.
var policyWords = []string{"NetworkPolicy", "NetworkPolicies", "AuthorizationPolicy", "EgressFirewall", "EgressNetworkPolicy", "NetworkSet", "ClusterNetworkPolicy"}

// JudgesConnections reports whether objects of a kind allow or deny connections, as far as its name shows.
func JudgesConnections(kind string) bool {
	return slices.ContainsFunc(policyWords, func(w string) bool { return strings.Contains(kind, w) })
}

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

// shownDoubts is how many names a doubt lists.
const shownDoubts = 3

// Doubts lists why no answer about the state is certain, one line each; none if every answer is. Without pods there is nothing to judge;
// what cannot be read, or has no address, may allow or deny anything.
func (s *State) Doubts() []string {
	var out []string
	if n := len(s.Problems); n > 0 {
		out = append(out, counted(n, "problem"))
	}
	if r := s.Reading; r != nil {
		for _, what := range r.Empty {
			out = append(out, "no object was read from "+what)
		}
		if len(r.Unjudged) > 0 {
			of := map[string]int{}
			for _, k := range r.Unjudged {
				of[k] = r.Ignored[k]
			}
			out = append(out, "ignored, although they decide on connections: "+countsText(of))
		}
	}
	if s.Firewalls {
		out = append(out, s.unknownDestinations()...)
	} else if n := len(s.Objects.Firewalls); n > 0 {
		out = append(out, "not evaluated here, although they decide on connections: "+counted(n, "EgressFirewall"))
	}
	if names := s.Unaddressed(); len(names) > 0 && s.Reading != nil && !s.Reading.Live {
		shown := names[:min(len(names), shownDoubts)]
		text := counted(len(names), "pod") + " without an address: " + strings.Join(shown, ", ")
		if more := len(names) - len(shown); more > 0 {
			text += fmt.Sprintf(", … (%d more)", more)
		}
		out = append(out, text)
	}
	if s.Unread != "" {
		out = append(out, s.Unread)
	}
	for i := range s.Others {
		for _, d := range s.Others[i].Doubts() {
			out = append(out, "cluster "+s.Others[i].Cluster+": "+d)
		}
	}
	return out
}

// unknownDestinations is a doubt about the EgressFirewalls that name destinations by DNS; none if none does.
func (s *State) unknownDestinations() []string {
	var names []string
	for _, f := range s.Objects.Firewalls {
		if slices.ContainsFunc(f.Spec.Egress, func(r ovnkubernetes.EgressFirewallRule) bool { return r.To.DNSName != "" }) {
			names = append(names, f.Namespace+"/"+f.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), shownDoubts)], ", ")
	if more := len(names) - shownDoubts; more > 0 {
		text += fmt.Sprintf(", … (%d more)", more)
	}
	return []string{"EgressFirewalls name destinations by DNS, whose addresses are not known: " + text}
}

// Unaddressed lists the pods that take part in no connection because they have no address yet.
func (s *State) Unaddressed() []string {
	var out []string
	for e := range s.View.Endpoints() {
		if e.Key.Cluster == s.Cluster && len(e.AllAddrs()) == 0 {
			out = append(out, e.Key.Namespace+"/"+e.Key.Name)
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
