package intent

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/object"
)

// Party is one end of a flow. A party without a key is whatever has the address.
type Party struct {
	Key  object.Key // the zero key if it is not an endpoint, or not known to be one
	Addr netip.Addr
}

// Flow is the first packet of a connection.
type Flow struct {
	Src, Dst Party
	Protocol Protocol
	Port     uint16 // destination port; ignored by protocols without ports
	// Node is where the flow enters the network: the node of the source if that is an endpoint. "" is unknown, and
	// matches the node of no backend.
	Node    string
	Network string // the logical network it enters; "" means the default one
}

// Verdict is the verdict of a snapshot on a flow. The zero value denies.
type Verdict struct {
	Allowed bool
	Egress  Decision // of the source's policies
	Ingress Decision // of the destination's policies
	// Balanced is the result for a flow to a frontend, nil for any other. Allowed then means that it is allowed
	// whichever backend it is sent to, and Egress and Ingress are those of the first choice that is denied, or else of
	// the first choice.
	Balanced *Balanced
}

// Decision is one direction of a verdict. The zero value denies.
type Decision struct {
	Allowed bool
	Tier    Tier // that decided; of no meaning if By is empty
	// By are the rules that decided or, if the isolation of the subject did, the isolating policies (Rule -1). It is empty if
	// no tier decided, and the connection is allowed.
	By       []RuleRef
	Isolated bool      // the evaluation came to TierNetworkPolicy, and some policy isolates the subject there
	Passed   []RuleRef // the rules that passed it on to a later tier, in order
}

// RuleRef refers to a rule of a policy.
type RuleRef struct {
	Policy PolicyID
	Rule   int // index in Policy.Rules; -1 is the policy's isolation itself
}

// Evaluate returns the verdict on one flow. A flow to a frontend is balanced first: policies see the backend and its
// port. An endpoint that talks to itself by its own address, or through a frontend, is never filtered; otherwise the
// source's egress and the destination's ingress must both allow.
func (s *Snapshot) Evaluate(f Flow) Verdict {
	if lb, front := s.Frontend(f.Network, f.Protocol, netip.AddrPortFrom(f.Dst.Addr, f.Port)); front != nil {
		return s.balance(f, lb, front)
	}
	return s.judge(f)
}

// judge returns the verdict of policies on a flow between two parties.
func (s *Snapshot) judge(f Flow) Verdict {
	if f.Src.Addr == f.Dst.Addr {
		open := Decision{Allowed: true}
		return Verdict{Allowed: true, Egress: open, Ingress: open}
	}
	v := Verdict{
		Egress:  s.decide(&side{Flow: f, direction: Egress, subject: f.Src, peer: f.Dst.Addr}),
		Ingress: s.decide(&side{Flow: f, direction: Ingress, subject: f.Dst, peer: f.Src.Addr}),
	}
	v.Allowed = v.Egress.Allowed && v.Ingress.Allowed
	return v
}

// side is one direction of a flow: the end that policies select, and the other.
type side struct {
	Flow

	direction Direction
	subject   Party
	peer      netip.Addr
}

// decide asks one tier after the other.
func (s *Snapshot) decide(f *side) Decision {
	var d Decision
	for _, tier := range Tiers() {
		decided := false
		if tier == TierNetworkPolicy {
			decided = s.decideByIsolation(f, &d)
		} else {
			decided = s.decideInOrder(tier, f, &d)
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
func (s *Snapshot) decideInOrder(tier Tier, f *side, d *Decision) bool {
	for p := range s.Ranked(tier) {
		if p.Direction != f.direction || !s.Set(p.Subject).selects(f.subject) {
			continue
		}
		for i := range p.Rules {
			r := &p.Rules[i]
			if !s.matches(r, f) {
				continue
			}
			if r.Action == Pass && tier.Ordered() {
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
func (s *Snapshot) decideByIsolation(f *side, d *Decision) bool {
	var isolating, allowing, denying []RuleRef
	for p := range s.Policies() {
		if p.Tier != TierNetworkPolicy || p.Direction != f.direction || !s.Set(p.Subject).selects(f.subject) {
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
		return s.Set(r.Peer.Set).Contains(f.peer)
	case PeerNone:
	}
	return false
}

// selects reports whether p is a member: by its key, or by its address if it has none.
func (s *Set) selects(p Party) bool {
	if s == nil || s.Members == nil {
		return false
	}
	if p.Key != (object.Key{}) {
		return s.Members.HasKey(p.Key)
	}
	return s.Members.HasAddr(p.Addr) || s.Members.HasSharedAddr(p.Addr)
}
