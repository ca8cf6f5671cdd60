package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// PolicyID names a policy: a function of the source object and the direction.
type PolicyID string

// NewPolicyID returns the name of the policy of an object for one direction.
func NewPolicyID(of Origin, d Direction) PolicyID { return PolicyID(of.String() + "/" + d.String()) }

// Origin is the object that caused an intent.
type Origin struct {
	Cluster   string // "" if there is only one, unnamed cluster
	Kind      string // such as NetworkPolicy or Node
	Namespace string // "" for a cluster-scoped object
	Name      string
	UID       string // "" if the source has none, as in a directory of manifests
}

// Ref names the object within its cluster.
func (o Origin) Ref() object.Ref {
	return object.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// String renders o as Kind/namespace/name or Kind/name.
func (o Origin) String() string {
	parts := []string{o.Kind}
	if o.Cluster != "" {
		parts = append([]string{o.Cluster}, parts...)
	}
	if o.Namespace != "" {
		parts = append(parts, o.Namespace)
	}
	return strings.Join(append(parts, o.Name), "/")
}

// Direction is the direction of traffic, seen from the subject, that a policy applies to.
type Direction uint8

// Ingress is traffic towards the subject, Egress traffic from it.
const (
	Ingress Direction = iota
	Egress
)

// Directions lists both directions in the order in which they are shown.
func Directions() [2]Direction { return [...]Direction{Ingress, Egress} }

// String returns "ingress" or "egress".
func (d Direction) String() string {
	if d == Egress {
		return "egress"
	}
	return "ingress"
}

// Action is what a rule does with traffic that it matches. The zero value denies.
type Action uint8

// Deny drops silently; Allow admits the connection with its replies and related traffic; Pass skips the rest of the tier.
// Only TierAdmin and TierBaseline have pass rules; in other tiers Pass denies.
const (
	Deny Action = iota
	Allow
	Pass
)

// String returns the action's lower-case name.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	case Pass:
		return "pass"
	default:
		return fmt.Sprintf("action(%d)", uint8(a))
	}
}

// Policy is what one source object specifies for the endpoints that it selects, in one direction. Its tier specifies how
// it combines with others.
type Policy struct {
	ID        PolicyID
	Origin    Origin
	Created   int64 // when the source object was created, in seconds since 1970; zero if that is unknown
	Direction Direction
	Tier      Tier
	Priority  uint16 // within TierAdmin and TierBaseline, lowest first; ignored in other tiers
	Subject   SetID
	// Namespaces are those that the members of Subject are in, sorted; nil means that they may be in any. They distinguish policies that
	// can never apply to the same endpoint.
	Namespaces []string
	// Isolates denies what no rule of the tier allows for the subject, whose members are in IsolatedSet. Only policies of
	// TierNetworkPolicy isolate.
	Isolates bool
	Rules    []Rule // in order, which matters in TierAdmin and TierBaseline only
	Log      Logging
	// Undeclared are the named ports of ingress rules of NetworkPolicies that no member of Subject declares, in the order of the object:
	// what they would allow is in no rule. If Subject has no members, they are all its named ports.
	Undeclared []UndeclaredPort
	// CNFs names the CNFs that enforce the policy too, on traffic that crosses them; zero for none.
	CNFs Scope
}

// UndeclaredPort is a named port that no selected endpoint declares.
type UndeclaredPort struct {
	Path     string // of the rule, such as spec.ingress[0]
	Field    string // of the port, such as spec.ingress[0].ports[0].port
	Name     string
	Protocol Protocol
}

// String says what is wrong, without the field.
func (u *UndeclaredPort) String() string {
	return fmt.Sprintf("no selected pod declares a %s port %q", u.Protocol, u.Name)
}

// UndeclaredIn lists the named ports of p that allow nothing for that reason, in a snapshot that has p; none if p selects no endpoint.
func (p *Policy) UndeclaredIn(s *Snapshot) []UndeclaredPort {
	if len(p.Undeclared) == 0 || s.Set(p.Subject).Len() == 0 {
		return nil
	}
	return p.Undeclared
}

// Whole returns p without the parts of its rules, for a snapshot with other policies than those that have them in common.
func (p *Policy) Whole() *Policy {
	whole := *p
	whole.Rules = slices.Clone(p.Rules)
	for i := range whole.Rules {
		whole.Rules[i].Parts = nil
	}
	return &whole
}

// Rule is what a policy does with some traffic. The zero value matches nothing.
type Rule struct {
	Path    string // its field in the source object, such as "spec.ingress[0]"
	Name    string // the name that the source object gives it; "" if none
	Action  Action
	Subject SetID // narrows the policy's subject, as a named port does; "" keeps it
	Peer    Peer
	Ports   Ports
	// Parts divides the rule, for targets that write the parts that several policies have in common only once: the union of their peers is
	// Peer. Nil means that nothing is in common. Only rules of TierNetworkPolicy that allow, without a log and a Subject, have parts.
	Parts []Part
}

// Part is one of several peers of a rule, with the rule's action and ports.
type Part struct {
	// Shared is the set of all endpoints that some policy allows exactly this, see SharedSet; "" if it is the policy's subject alone.
	// A target may use it as the subject in place of the policy's, once for all of these policies.
	Shared SetID
	Peer   Peer
}

// PeerKind is how a rule names the other side. The zero value matches no peer.
type PeerKind uint8

// PeerNone matches no address; PeerSet matches the addresses of a set; PeerAny matches every address of either
// family.
const (
	PeerNone PeerKind = iota
	PeerSet
	PeerAny
)

// Peer is the other side of a connection: the source for ingress, the destination for egress.
type Peer struct {
	Kind PeerKind
	Set  SetID // only with PeerSet
}

// Severity is the severity with which a matched packet is logged. The zero value does not log. The names are those of
// syslog and of the ACL table in ovn-nb(5).
type Severity uint8

// The severities, lowest first.
const (
	SeverityNone Severity = iota
	SeverityDebug
	SeverityInfo
	SeverityNotice
	SeverityWarning
	SeverityAlert
)

var severityNames = [...]string{"", "debug", "info", "notice", "warning", "alert"}

// String returns the severity's name, "" for none.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// ParseSeverity parses a severity's name. The empty string is SeverityNone.
func ParseSeverity(s string) (Severity, error) {
	for i, n := range severityNames {
		if n == s {
			return Severity(i), nil
		}
	}
	return SeverityNone, fmt.Errorf("severity %q: expected alert, warning, notice, info or debug", s)
}

// Logging requests audit log lines for connections that a policy allows or denies. The zero value requests none.
type Logging struct {
	Allow Severity
	Deny  Severity
	Rate  uint32 // lines per second; 0 is the backend's default
}
