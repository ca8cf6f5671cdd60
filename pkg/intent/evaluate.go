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
	// OwnNode means that the node opens the connection itself and balances it, as kube-proxy does, before it enters the network. What
	// arrives from the address of a node elsewhere is from outside.
	OwnNode bool
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
		Egress:  s.decide(sideOf(f, Egress), s.ofTier),
		Ingress: s.decide(sideOf(f, Ingress), s.ofTier),
	}
	v.Allowed = v.Egress.Allowed && v.Ingress.Allowed
	return v
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
