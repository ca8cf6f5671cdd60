package probe

import "slices"

// Verdict is the result for a connection.
type Verdict string

// The verdicts. Deny drops the connection, Refuse answers with an error. Mixed depends on the address family, or on the
// chosen endpoint of a service. VerdictUnknown depends on policies of another cluster that are not known.
const (
	Allow  Verdict = "allow"
	Deny   Verdict = "deny"
	Refuse Verdict = "refuse"
	Mixed  Verdict = "mixed"

	VerdictUnknown Verdict = "unknown"
)

// with combines two verdicts.
func (v Verdict) with(o Verdict) Verdict {
	switch {
	case v == o:
		return v
	case v == VerdictUnknown || o == VerdictUnknown:
		return VerdictUnknown
	default:
		return Mixed
	}
}

// verdictOf is allow or deny.
func verdictOf(allowed bool) Verdict {
	if allowed {
		return Allow
	}
	return Deny
}

// rank orders the verdicts of one direction: what closes a connection comes first.
func (v Verdict) rank() int { return slices.Index([]Verdict{Deny, VerdictUnknown, Allow}, v) }

// both is the verdict of two directions together.
func both(a, b Verdict) Verdict {
	if a.rank() < b.rank() {
		return a
	}
	return b
}
