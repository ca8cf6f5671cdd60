package intent

import (
	"iter"
	"net/netip"
	"slices"
)

// side is one direction of a flow: the end that policies select, and the other.
type side struct {
	Flow

	direction Direction
	subject   Party
	peer      netip.Addr
}

func sideOf(f Flow, d Direction) *side {
	if d == Ingress {
		return &side{Flow: f, direction: d, subject: f.Dst, peer: f.Src.Addr}
	}
	return &side{Flow: f, direction: d, subject: f.Src, peer: f.Dst.Addr}
}

// ofTier yields the policies of a tier, those of an ordered one in order of precedence.
func (s *Snapshot) ofTier(t Tier) iter.Seq[*Policy] {
	if t != TierNetworkPolicy {
		return s.Ranked(t)
	}
	return func(yield func(*Policy) bool) {
		for p := range s.Policies() {
			if p.Tier == t && !yield(p) {
				return
			}
		}
	}
}

// Decide returns the decision of one direction of a flow between two parties, from policies that include all that select the
// subject, in any order.
func (s *Snapshot) Decide(f Flow, d Direction, among []*Policy) Decision {
	of := func(t Tier) iter.Seq[*Policy] {
		return func(yield func(*Policy) bool) {
			for _, p := range among {
				if p.Tier == t && !yield(p) {
					return
				}
			}
		}
	}
	if slices.ContainsFunc(among, func(p *Policy) bool { return p.Tier.Ordered() }) {
		among = slices.SortedFunc(slices.Values(among), (*Policy).Compare)
	}
	return s.decide(sideOf(f, d), of)
}

// decide asks one tier after the other.
func (s *Snapshot) decide(f *side, of func(Tier) iter.Seq[*Policy]) Decision {
	var d Decision
	for _, tier := range Tiers() {
		decided := false
		if tier == TierNetworkPolicy {
			decided = s.decideByIsolation(of(tier), f, &d)
		} else {
			decided = s.decideInOrder(of(tier), tier.Ordered(), f, &d)
		}
		if decided {
			d.Tier = tier
			return d
		}
	}
	d.Allowed = true
	return d
}

// decideInOrder applies the first rule of a tier that matches. It returns false if none decides.
func (s *Snapshot) decideInOrder(policies iter.Seq[*Policy], ordered bool, f *side, d *Decision) bool {
	for p := range policies {
		if p.Direction != f.direction || !s.Set(p.Subject).selects(f.subject) {
			continue
		}
		for i := range p.Rules {
			r := &p.Rules[i]
			if !s.matches(r, f) {
				continue
			}
			if r.Action == Pass && ordered {
				d.Passed = append(d.Passed, RuleRef{p.ID, i})
				return false
			}
			d.By, d.Allowed = []RuleRef{{p.ID, i}}, r.Action == Allow
			return true
		}
	}
	return false
}

// decideByIsolation applies all rules of TierNetworkPolicy. It returns false if none decides and the subject is not isolated.
func (s *Snapshot) decideByIsolation(policies iter.Seq[*Policy], f *side, d *Decision) bool {
	var isolating, allowing, denying []RuleRef
	for p := range policies {
		if p.Direction != f.direction || !s.Set(p.Subject).selects(f.subject) {
			continue
		}
		if p.Isolates {
			isolating = append(isolating, RuleRef{p.ID, -1})
		}
		for i := range p.Rules {
			switch r := &p.Rules[i]; {
			case !s.matches(r, f):
			case r.Action == Allow:
				allowing = append(allowing, RuleRef{p.ID, i})
			default:
				denying = append(denying, RuleRef{p.ID, i})
			}
		}
	}
	d.Isolated = len(isolating) > 0
	switch {
	case len(denying) > 0:
		d.By = denying
	case len(allowing) > 0:
		d.By, d.Allowed = allowing, true
	default:
		d.By = isolating
	}
	return len(d.By) > 0
}

func (s *Snapshot) matches(r *Rule, f *side) bool {
	if !r.Ports.Has(f.Protocol, f.Port) || r.Subject != "" && !s.Set(r.Subject).selects(f.subject) {
		return false
	}
	switch r.Peer.Kind {
	case PeerAny:
		return true
	case PeerSet:
		return s.contains(r.Peer.Set, f.peer)
	case PeerNone:
	}
	return false
}
