package ovn

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// What rules of several policies have in common (intent.Part.Shared) has ACLs of its own, in the port group of the set of all their
// subjects. They are named after no policy, so that one that comes or goes changes the ports of the group and the notes about its namespace,
// but no ACL.

// share is what a rule has in common with others.
type share struct {
	set       intent.SetID
	direction intent.Direction
	rule      *intent.Rule // with the part as its peer
}

// sharesOf yields what rules of p have in common with others, one by one. A rule that has no match is not shared: it is reported with its
// policy.
func sharesOf(p *intent.Policy) iter.Seq[share] {
	return func(yield func(share) bool) {
		for i := range p.Rules {
			for _, part := range partsOf(&p.Rules[i]) {
				if part.Shared != "" && !yield(share{part.Shared, p.Direction, narrowed(&p.Rules[i], part.Peer)}) {
					return
				}
			}
		}
	}
}

// partsOf returns the parts that a rule is rendered in, nil if it is rendered as a whole.
func partsOf(rule *intent.Rule) []intent.Part {
	if inexpressible(rule) != "" {
		return nil
	}
	return rule.Parts
}

// narrowed returns a rule as it is for one of its parts.
func narrowed(rule *intent.Rule, peer intent.Peer) *intent.Rule {
	part := *rule
	part.Peer, part.Parts = peer, nil
	return &part
}

// sharers are the rules for which a shared group stands: their paths, by policy.
type sharers map[intent.PolicyID]string

// shownSharers is how many policies are named where a shared ACL is shown.
const shownSharers = 4

// sharersOf lists the paths of the rules of p in each shared group.
func sharersOf(p *intent.Policy) map[intent.SetID]string {
	if p == nil {
		return nil
	}
	paths := map[intent.SetID][]string{}
	for s := range sharesOf(p) {
		paths[s.set] = append(paths[s.set], s.rule.Path)
	}
	out := make(map[intent.SetID]string, len(paths))
	for id, list := range paths {
		slices.Sort(list)
		out[id] = strings.Join(slices.Compact(list), noteSeparator)
	}
	return out
}

// sharedGroups renders what policies have in common, for those of them that are given.
func (r *renderer) sharedGroups(policies iter.Seq[*intent.Policy]) map[intent.SetID]*group {
	found, by := map[intent.SetID]share{}, map[intent.SetID]sharers{}
	origins := map[intent.SetID][]string{}
	for p := range policies {
		for s := range sharesOf(p) {
			found[s.set] = s
		}
		for id, paths := range sharersOf(p) {
			if by[id] == nil {
				by[id] = sharers{}
			}
			by[id][p.ID] = paths
			origins[id] = append(origins[id], p.Origin.String())
		}
	}
	out := make(map[intent.SetID]*group, len(found))
	for id, s := range found {
		if piece := r.sharedPiece(s, origins[id]); piece != nil {
			out[id] = groupOf(id, piece)
			out[id].sharers = by[id]
		}
	}
	return out
}

// sharedPiece renders the ACLs of a shared group; nil if there are none. The origins are those of the sharers, sorted or not.
func (r *renderer) sharedPiece(s share, origins []string) *piece {
	d := newDraft(s.set)
	title := nb.OriginShared + s.direction.String()
	origin := title
	if len(origins) > 0 {
		origin += ": " + object.Few(slices.Sorted(slices.Values(origins)), shownSharers)
	}
	for _, match := range r.matches(d, subjectMatch(s.direction, r.names.PortGroup(s.set)), s.direction, s.rule) {
		r.add(d, nb.ACL{
			Direction: s.direction, Priority: priorityAllow, Action: nb.ActionAllow, Match: match, Name: "netloom " + title,
			IDs: map[string]string{nb.KeyDirection: s.direction.String(), nb.KeyTitle: title}, Origin: origin,
		})
	}
	if len(d.acls) == 0 {
		return nil
	}
	return d.piece(nil)
}

// sharerEdit is what a plan changes about the sharers of a group that stays.
type sharerEdit struct{ put, cut sharers }

// leaves counts the sharers after an edit.
func (e *sharerEdit) leaves(have sharers) int {
	n := len(have)
	for policy := range e.put {
		if _, had := have[policy]; !had {
			n++
		}
	}
	for policy := range e.cut {
		if _, put := e.put[policy]; !put {
			n--
		}
	}
	return n
}

// apply changes the sharers of a group.
func (e *sharerEdit) apply(have sharers) {
	for policy := range e.cut {
		delete(have, policy)
	}
	maps.Copy(have, e.put)
}
