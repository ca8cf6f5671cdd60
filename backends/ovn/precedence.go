package ovn

import (
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// place is where among others an ACL is evaluated.
type place struct {
	tier     int // of the database; 0 is that of NetworkPolicies
	priority int
	full     bool // there are not enough priorities: the rule fails closed
}

// band is the priorities for the rules of an ordered tier of ours. Rules next to each other with the same action share a
// priority, since their order makes no difference.
//
// As long as every level, that is the policies of one priority, needs at most perLevel priorities, each level has that many of
// its own, so that an edit moves no rule of another level. Otherwise the rules of all levels are numbered one after the other.
type band struct {
	tier     int // of the database
	top      int // the highest priority
	size     int // how many there are
	perLevel int // of size, for each level
}

// priorityTop is for what no policy may deny. It is above every band.
const priorityTop = 32000

// levels is how many levels there are: priorities are 0 to 1000, and a BaselineAdminNetworkPolicy comes after these.
const levels = 1002

// The tiers of the database for ours, as in other OVN controllers.
const (
	tierAdmin    = 1
	tierBaseline = 3
)

// bandOf returns the band of an ordered tier. Without tiers in the schema, the bands of both lie above and below the priorities
// for NetworkPolicies.
func bandOf(schema ovsdb.Schema, t intent.Tier) band {
	switch {
	case hasTiers(schema) && t == intent.TierAdmin:
		return band{tier: tierAdmin, top: priorityTop - 1, size: levels * 31, perLevel: 31}
	case hasTiers(schema):
		return band{tier: tierBaseline, top: priorityTop - 1, size: levels * 31, perLevel: 31}
	case t == intent.TierAdmin:
		return band{top: priorityTop - 1, size: levels * 29, perLevel: 29}
	default:
		return band{top: priorityDrop - 1, size: priorityDrop - 1}
	}
}

// hasTiers reports whether ACLs have tiers, and can pass to the next one (OVN 23.06 and later).
func hasTiers(schema ovsdb.Schema) bool { return schema.HasColumn(nb.TableACL, "tier") }

// places returns the place of each rule of the policies in ordered tiers.
func (r *renderer) places() map[intent.PolicyID][]place {
	if r.placed == nil {
		r.placed = map[intent.PolicyID][]place{}
		for _, t := range intent.Tiers() {
			for _, d := range intent.Directions() {
				if t.Ordered() {
					bandOf(r.schema, t).assign(r.want, t, d, r.placed)
				}
			}
		}
	}
	return r.placed
}

// assign enters the places of the rules of a tier and direction.
func (b band) assign(want *intent.Snapshot, t intent.Tier, d intent.Direction, places map[intent.PolicyID][]place) {
	var policies []*intent.Policy
	for p := range want.Ranked(t) {
		if p.Direction == d {
			policies = append(policies, p)
		}
	}
	slots, fits := b.slotsByLevel(policies)
	if !fits {
		slots = slotsInOrder(policies)
	}
	for i, p := range policies {
		list := make([]place, len(p.Rules))
		for j, slot := range slots[i] {
			list[j] = place{tier: b.tier, priority: b.top - min(slot, b.size-1), full: slot >= b.size}
		}
		places[p.ID] = list
	}
}

// slotsByLevel numbers the rules within their levels. It returns false if a level has too many.
func (b band) slotsByLevel(policies []*intent.Policy) ([][]int, bool) {
	var out [][]int
	for i := 0; i < len(policies); {
		j := i
		for j < len(policies) && policies[j].Priority == policies[i].Priority {
			j++
		}
		level := int(policies[i].Priority)
		for _, list := range slotsInOrder(policies[i:j]) {
			for k := range list {
				if list[k] >= b.perLevel || level >= levels {
					return nil, false
				}
				list[k] += level * b.perLevel
			}
			out = append(out, list)
		}
		i = j
	}
	return out, true
}

// slotsInOrder numbers the rules of policies from 0, one more whenever the action is another than before.
func slotsInOrder(policies []*intent.Policy) [][]int {
	out := make([][]int, len(policies))
	slot, last := -1, ""
	for i, p := range policies {
		out[i] = make([]int, len(p.Rules))
		for j := range p.Rules {
			if action := actionOf(p.Tier, p.Rules[j].Action); action != last {
				slot, last = slot+1, action
			}
			out[i][j] = slot
		}
	}
	return out
}

// actionOf returns the action of the ACLs of a rule. What passes the last tier is allowed.
func actionOf(t intent.Tier, a intent.Action) string {
	switch {
	case a == intent.Allow, a == intent.Pass && t == intent.TierBaseline:
		return nb.ActionAllow
	case a == intent.Pass && t == intent.TierAdmin:
		return nb.ActionPass
	default:
		return nb.ActionDrop
	}
}

// placeOf returns the place of the i-th rule of a policy.
func (r *renderer) placeOf(p *intent.Policy, i int) place {
	switch {
	case p.Tier.Ordered():
		return r.places()[p.ID][i]
	case p.Tier == intent.TierSystem:
		return r.topPlace(intent.TierAdmin)
	case p.Rules[i].Action == intent.Allow:
		return place{priority: priorityAllow}
	default:
		return place{priority: priorityDeny}
	}
}

// topPlace is before all rules of a tier, and of those after it.
func (r *renderer) topPlace(t intent.Tier) place {
	return place{tier: bandOf(r.schema, t).tier, priority: priorityTop}
}

// hairpinPlace is where a pod reaches itself through a load balancer, before all rules of a tier that deny.
func (r *renderer) hairpinPlace(t intent.Tier) place {
	if t.Ordered() {
		return r.topPlace(t)
	}
	return place{priority: priorityHairpin}
}

// failsClosed returns what to render in place of a rule, and why, if it cannot be rendered as it is: a rule that allows is left
// out, and one that denies or passes drops everything of its subject. It returns an empty reason for a rule that can be.
func (r *renderer) failsClosed(p *intent.Policy, i int) (instead *intent.Rule, reason string) {
	rule := &p.Rules[i]
	reason = inexpressible(rule)
	switch {
	case reason != "":
	case r.placeOf(p, i).full:
		reason = "there are not enough ACL priorities for all cluster-wide policies"
	case actionOf(p.Tier, rule.Action) == nb.ActionPass && !hasTiers(r.schema):
		reason = "the database has no ACL tiers, which a pass needs"
	default:
		return rule, ""
	}
	if rule.Action == intent.Allow || rule.Action > intent.Pass {
		return nil, reason
	}
	instead = &intent.Rule{
		Path: rule.Path, Name: rule.Name, Subject: rule.Subject,
		Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true},
	}
	return instead, reason + "; it denies everything"
}

func (r *renderer) skip(p *intent.Policy, path, reason string) {
	r.skips = append(r.skips, backends.Skip{Intent: string(p.ID), Reason: fmt.Sprintf("%s: %s", path, reason)})
}
