package intent

import "fmt"

// DeviceIntentID names a device intent: its scope, then the source object, then a part if one object has several. It is made
// only by NewDeviceIntentID.
type DeviceIntentID string

// NewDeviceIntentID formats the ID of what a source object wants of the CNFs of s. The part distinguishes several
// intents of one object; "" means the only one.
func NewDeviceIntentID(s Scope, of Origin, part string) DeviceIntentID {
	id := scopePrefix(s) + of.Kind + "/" + of.Namespace + "/" + of.Name
	if part != "" {
		id += "/" + part
	}
	return DeviceIntentID(id)
}

func scopePrefix(s Scope) string { return s.Namespace + "/" + s.Purpose + "/" }

// DeviceIntent is one thing that the CNFs of a scope must have. It is read-only.
type DeviceIntent struct {
	ID         DeviceIntentID
	Scope      Scope
	Origin     Origin
	Generation int64 // of the source object, incremented with its spec; 0 if it has none
	// Needs lists the intents of the same scope that must be in place before this one, and be deleted after it, sorted.
	Needs []DeviceIntentID
	// Gone means that it must be deleted, and that its source waits for that. Spec is what it was.
	Gone bool
	// Unknown means that it is not known yet what its source requires. Spec then only has its kind, and any object of
	// that kind on a CNF that no intent refers to may belong to it, and stays.
	Unknown bool
	// Adopts is the target's own name of an object, made by hand, that this intent takes over; "" takes over none.
	Adopts string
	Spec   DeviceSpec
}

// DeviceSpec is what a device intent wants: a pointer to Zone, Forwarding, FirewallRule, ZoneNAT, LinkRule, LinkNAT, WANPolicy,
// WANRule, Proposal, Tunnel, Route, RouteRule or Application.
type DeviceSpec interface{ DeviceKind() DeviceKind }

// DeviceKind is the kind of thing that a device intent describes. A kind refers only to those before it. The zero value is none.
type DeviceKind uint8

// The kinds of device intents.
const (
	DeviceZone DeviceKind = iota + 1
	DeviceForwarding
	DeviceFirewallRule
	DeviceZoneNAT
	DeviceLinkRule
	DeviceLinkNAT
	DeviceWANPolicy
	DeviceWANRule
	DeviceProposal
	DeviceTunnel
	DeviceRoute
	DeviceRouteRule
	DeviceApplication
)

var deviceKindNames = [...]string{
	"", "zone", "forwarding", "firewall rule", "NAT between zones", "rule between links", "NAT between links", "WAN policy",
	"WAN rule", "proposal", "tunnel", "route", "route rule", "application",
}

// String returns the kind in words.
func (k DeviceKind) String() string {
	if int(k) < len(deviceKindNames) {
		return deviceKindNames[k]
	}
	return fmt.Sprintf("device kind %d", uint8(k))
}

// DeviceRef refers to what another intent creates, or to something that a person created on the CNF. The zero value
// refers to nothing.
type DeviceRef struct {
	ID   DeviceIntentID // of an intent of the same scope; "" if Name is set
	Name string         // the CNF's own name for what is not an intent
}

// Set reports whether r refers to something.
func (r DeviceRef) Set() bool { return r != DeviceRef{} }

// Toggle is a switch that may be left as it is. The zero value leaves it.
type Toggle uint8

// The positions of a switch.
const (
	Unset Toggle = iota
	Off
	On
)

// Secret is text that must not be shown: it prints as a fixed word.
type Secret string

const redacted = "(redacted)"

// String hides s.
func (s Secret) String() string { return redacted }

// GoString hides s.
func (s Secret) GoString() string { return redacted }

// Format hides s for every verb: one that does not apply would print s.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides s.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// SecretValue is a secret in plain text, or where to find it. The zero value is none; at most one field is set.
type SecretValue struct {
	Value Secret
	From  SecretRef
}

// Set reports whether there is a secret.
func (v SecretValue) Set() bool { return v != SecretValue{} }

// SecretRef is a key of a Secret.
type SecretRef struct{ Namespace, Name, Key string }
