package intent

import "net/netip"

// Disposition is what happens to a packet. The zero value leaves it to the CNF.
type Disposition uint8

// What happens to packets. Mark sets a mark and leaves the decision to other rules; NoTrack exempts them from
// connection tracking.
const (
	Undecided Disposition = iota
	Accept
	Reject
	Drop
	Mark
	NoTrack
)

// PrefixMatch is a prefix, or with Not every address outside it.
type PrefixMatch struct {
	Prefix netip.Prefix
	Not    bool
}

// Match is the conditions of a rule on packets. Zero values match any. Everything but addresses is written as in the
// CRDs, which is how the kernel's own tools write it.
type Match struct {
	Src, Dst         netip.Prefix // invalid is any
	SrcMAC           string
	Protocol         string // tcp, udp, tcpudp, udplite, icmp, esp, ah, sctp or all
	SrcPort, DstPort uint16 // 0 means any
	ICMPTypes        []string
	Mark             string   // value, or value/mask
	Family           Families // 0 is both
}

// Zone groups networks of a CNF, for rules to refer to.
type Zone struct {
	Networks       []string // names, see CNF.Networks
	Subnets        []netip.Prefix
	Masquerade     Toggle
	MasqueradeFrom []PrefixMatch // sources that are masqueraded; none is all
	MasqueradeTo   []PrefixMatch // destinations, likewise
	AllowInvalid   Toggle        // allows packets of no known connection to pass although they are masqueraded
	ClampMSS       Toggle        // lowers the segment size of TCP to what fits the path
	// Input is for packets to the CNF, Output for those from it, Forward for those between the zone's own networks.
	Input, Forward, Output Disposition
	Family                 Families // 0 is both
	RawSrc, RawDst         string   // further conditions in the words of the CNF's own tool
}

// Forwarding allows connections from one zone to another.
type Forwarding struct {
	From, To DeviceRef
	Family   Families // 0 is both
}

// FirewallRule decides about packets between zones. Without From it applies to packets that the CNF sends, without To
// to those for it.
type FirewallRule struct {
	From, To DeviceRef
	Match    Match
	Decides  Disposition
	SetMark  string // with Mark: the bits to set, as value/mask
	XorMark  string // with Mark: value and the mask of the bits that are cleared first
	Raw      string // further conditions in the words of the CNF's own tool
}

// NATKind selects the address that is translated. The zero value is none.
type NATKind uint8

// SourceNAT gives packets a given source, DestinationNAT a given destination, Masquerade the address of the interface
// through which they leave.
const (
	SourceNAT NATKind = iota + 1
	DestinationNAT
	Masquerade
)

// Translation is what NATs have in common. Match applies to packets before they are translated.
type Translation struct {
	Kind  NATKind
	Match Match
	Addr  netip.Addr // the new address; invalid keeps it
	Port  uint16     // the new port; 0 keeps it
}

// ZoneNAT translates packets between zones.
type ZoneNAT struct {
	From, To DeviceRef
	Translation
}

// LinkRule is a firewall rule between interfaces, in effect as soon as it is written. Without To it applies to packets for
// the CNF itself.
type LinkRule struct {
	From, To         Link
	Match            Match
	Decides          Disposition
	SetMark, XorMark string
	Raw              string
}

// LinkNAT translates packets between interfaces, in effect as soon as it is written.
type LinkNAT struct {
	From, To Link
	Translation
	Place int // in the chain, from 1; 0 is its end
}

// DeviceKind returns DeviceZone.
func (*Zone) DeviceKind() DeviceKind { return DeviceZone }

// DeviceKind returns DeviceForwarding.
func (*Forwarding) DeviceKind() DeviceKind { return DeviceForwarding }

// DeviceKind returns DeviceFirewallRule.
func (*FirewallRule) DeviceKind() DeviceKind { return DeviceFirewallRule }

// DeviceKind returns DeviceZoneNAT.
func (*ZoneNAT) DeviceKind() DeviceKind { return DeviceZoneNAT }

// DeviceKind returns DeviceLinkRule.
func (*LinkRule) DeviceKind() DeviceKind { return DeviceLinkRule }

// DeviceKind returns DeviceLinkNAT.
func (*LinkNAT) DeviceKind() DeviceKind { return DeviceLinkNAT }
