package nbtrace

import "net/netip"

// Rows is the part of a Northbound database that decides on packets, whoever read it.
type Rows struct {
	ACLs        []ACL
	PortGroups  []PortGroup
	AddressSets []AddressSet
	Switches    []Switch
}

// ACL is a row of the ACL table.
type ACL struct {
	UUID        string
	Direction   string // from-lport or to-lport
	Priority    int
	Tier        int
	Match       string
	Action      string // allow, allow-related, allow-stateless, drop, reject or pass
	Name        string
	Options     map[string]string // apply-after-lb is looked at
	ExternalIDs map[string]string
}

// PortGroup is a row of the Port_Group table.
type PortGroup struct {
	Name  string
	Ports []string // names of logical switch ports
	ACLs  []string // UUIDs
}

// AddressSet is a row of the Address_Set table.
type AddressSet struct {
	Name      string
	Addresses []string // addresses and prefixes of either family
}

// Switch is a row of the Logical_Switch table.
type Switch struct {
	Name  string
	Ports []string // names of logical switch ports
	ACLs  []string // UUIDs
}

// Packet is the first packet of a connection, as it meets the ACLs: after load balancing.
type Packet struct {
	// Inport and Outport are logical switch ports. The stages of an empty one are skipped: the packet comes from, or
	// goes to, a router or the outside.
	Inport, Outport string
	Src, Dst        netip.Addr
	Protocol        uint8 // IP protocol number
	SrcPort         uint16
	DstPort         uint16
	ICMPType        uint8 // with protocol 1 and 58
	ARP             bool  // an ARP packet: no IP at all, whatever the addresses say
}

// Verdict is what one direction says of a packet. The zero value is a port that is on no switch: nothing passes it.
type Verdict string

// The verdicts.
const (
	NoPort  Verdict = ""        // the port is on no switch; denies
	Skipped Verdict = "skipped" // no port to ask about; allows
	Default Verdict = "default" // no ACL matched; allows
	Allow   Verdict = "allow"
	Drop    Verdict = "drop"
	Reject  Verdict = "reject" // denies, and says so to the sender
)

// Allows says whether v lets a packet pass.
func (v Verdict) Allows() bool { return v == Skipped || v == Default || v == Allow }

// Step is one direction of a result.
type Step struct {
	Verdict  Verdict
	ACL      *ACL // the row that decided; nil when none did
	Priority int  // of that row
	// Ambiguous says that another ACL of the same tier and priority matched with another verdict. OVN then does as it
	// likes; the step holds the verdict that denies.
	Ambiguous bool
}

// Result is what the rows say of a packet. The zero value denies.
type Result struct {
	Allowed bool
	Egress  Step // from-lport, at Inport
	Ingress Step // to-lport, at Outport
}
