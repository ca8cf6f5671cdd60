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
	Isolated bool      // some policy isolates the subject in this direction
	Allowed  bool      // not isolated, or some rule allows
	By       []RuleRef // the rules that allow, or, if denied, the isolating policies (Rule -1)
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
		Egress:  s.decide(Egress, f.Src, f.Dst.Addr, f),
		Ingress: s.decide(Ingress, f.Dst, f.Src.Addr, f),
	}
	v.Allowed = v.Egress.Allowed && v.Ingress.Allowed
	return v
}

func (s *Snapshot) decide(d Direction, subject Party, peer netip.Addr, f Flow) Decision {
	var isolating, allowing []RuleRef
	for p := range s.Policies() {
		if p.Direction != d || !s.Set(p.Subject).selects(subject) {
			continue
		}
		if p.Isolates {
			isolating = append(isolating, RuleRef{p.ID, -1})
		}
		for i := range p.Rules {
			if s.admits(&p.Rules[i], subject, peer, f) {
				allowing = append(allowing, RuleRef{p.ID, i})
			}
		}
	}
	switch {
	case len(isolating) == 0:
		return Decision{Allowed: true}
	case len(allowing) > 0:
		return Decision{Isolated: true, Allowed: true, By: allowing}
	default:
		return Decision{Isolated: true, By: isolating}
	}
}

func (s *Snapshot) admits(r *Rule, subject Party, peer netip.Addr, f Flow) bool {
	if r.Action != Allow || !r.Ports.Has(f.Protocol, f.Port) {
		return false
	}
	if r.Subject != "" && !s.Set(r.Subject).selects(subject) {
		return false
	}
	switch r.Peer.Kind {
	case PeerAny:
		return true
	case PeerSet:
		return s.Set(r.Peer.Set).Contains(peer)
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
