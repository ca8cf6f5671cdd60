package intent

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// Tier is the stage of evaluation to which a policy belongs. A connection is evaluated in each direction by TierSystem,
// TierAdmin, TierNetworkPolicy and TierBaseline, until one of them decides. A connection that none of them decides is allowed.
type Tier uint8

// The tiers. The zero value is that of NetworkPolicies.
const (
	// TierNetworkPolicy allows what a rule of any of its policies allows. It denies what a rule denies, even if another
	// allows it, and everything else of a subject that one of its policies isolates. The rest is left undecided.
	TierNetworkPolicy Tier = iota
	// TierAdmin applies the first rule that matches, in order of Policy.Compare and within a policy in the order of its
	// rules. Allow and Deny decide; Pass, like no match, leaves the connection to the next tier.
	TierAdmin
	// TierBaseline is evaluated like TierAdmin.
	TierBaseline
	// TierSystem allows what a network requires, whatever policies say, such as a node's access to its own pods.
	TierSystem
)

// Tiers lists the tiers in the order in which they are evaluated.
func Tiers() [4]Tier { return [...]Tier{TierSystem, TierAdmin, TierNetworkPolicy, TierBaseline} }

// Ordered reports whether the order of policies and rules matters in a tier.
func (t Tier) Ordered() bool { return t == TierAdmin || t == TierBaseline }

// String returns the tier's name in lower case, as messages use it.
func (t Tier) String() string {
	switch t {
	case TierNetworkPolicy:
		return "NetworkPolicy"
	case TierAdmin:
		return "admin"
	case TierBaseline:
		return "baseline"
	case TierSystem:
		return "system"
	default:
		return fmt.Sprintf("tier(%d)", uint8(t))
	}
}

// Compare orders policies of one tier by precedence: by priority, then by name and kind of the object. The API leaves the
// order of equal priorities open.
func (p *Policy) Compare(o *Policy) int {
	return cmp.Or(
		cmp.Compare(p.Priority, o.Priority), cmp.Compare(p.Origin.Name, o.Origin.Name), cmp.Compare(p.Origin.Kind, o.Origin.Kind),
		cmp.Compare(p.ID, o.ID),
	)
}

// rank returns a key that sorts policies by tier and, within it, like Compare.
func (p *Policy) rank() []byte {
	key := binary.BigEndian.AppendUint16([]byte{byte(p.Tier)}, p.Priority)
	for _, part := range []string{p.Origin.Name, p.Origin.Kind, string(p.ID)} {
		key = append(append(key, part...), 0)
	}
	return key
}
