package nbtrace

import "net/netip"

// Packet is the first packet of a connection, as its sender sends it.
type Packet struct {
	// Inport and Outport are logical switch ports. The stages of an empty one are skipped: the packet comes from, or goes
	// to, a router or the outside, through the ports of a switch to routers and the outside. A load-balanced packet goes to
	// the ports of its backends instead of Outport.
	Inport, Outport string
	// Router is the logical router that the packet crosses after the switch of Inport, or through which it enters; "" is
	// none. Its load balancers apply if those of the switch do not.
	Router string
	// Chassis is the chassis where the packet enters, as Chassis_Template_Var names it; "" is one without variables.
	Chassis string
	// PortOf returns the logical switch port of a backend's address, "" for none. Nil looks at Rows.Ports.
	PortOf func(netip.Addr) string

	Src, Dst netip.Addr
	Protocol uint8  // IP protocol number
	SrcPort  uint16 // 0 is one of the ephemeral ports, it is not known which
	DstPort  uint16
	ICMPType uint8 // with protocol 1 and 58
	ARP      bool  // an ARP packet: no IP at all, whatever the addresses say

	loopback bool // comes back to its sender
}

// Verdict is the result for one direction of a packet. The zero value is a port that is on no switch: nothing passes it.
type Verdict string

// The verdicts.
const (
	NoPort  Verdict = ""        // the port is on no switch, or the packet never came to a port; denies
	Skipped Verdict = "skipped" // there is no port to evaluate; allows
	Default Verdict = "default" // no ACL matched; allows
	Allow   Verdict = "allow"
	Drop    Verdict = "drop"
	Reject  Verdict = "reject" // denies, and says so to the sender
	// Unknown means that the ACLs contain something that this package does not know and that may decide. It counts as
	// denied; Step.ACL is the ACL in question.
	Unknown Verdict = "unknown"
)

// Allows reports whether v allows a packet.
func (v Verdict) Allows() bool { return v == Skipped || v == Default || v == Allow }

// Step is one direction of a result.
type Step struct {
	Verdict  Verdict
	ACL      *ACL // the row that decided; nil when none did
	Priority int  // of that row
	// Ambiguous means that another ACL of the same tier and priority matched with another verdict. Which one OVN uses is
	// undefined; the step has the verdict that denies.
	Ambiguous bool
}

// Result is the result for a packet. The zero value denies.
type Result struct {
	// Allowed means that the packet arrives, whichever backend it is sent to.
	Allowed bool
	Egress  Step // from-lport, at Inport
	Ingress Step // to-lport, at Outport
	// Balanced is what a load balancer did, nil if none has the packet's destination or an ACL dropped the packet
	// earlier. Egress and Ingress are then those of the first backend that is denied, otherwise of the first.
	Balanced *Balanced
}

// Outcome is the effect of a load balancer on a packet. The zero value is none.
type Outcome string

// The outcomes. An unserved packet continues to the VIP itself, which no port has.
const (
	SentOn   Outcome = "sent on"  // to one of the backends
	Refused  Outcome = "refused"  // answered at once: there is no backend
	Unserved Outcome = "unserved" // not answered: there is no backend, or no sense in the row
)

// Balanced is what a load balancer did with a packet.
type Balanced struct {
	LoadBalancer *LoadBalancer
	VIP          string // the key in LoadBalancer.VIPs
	Outcome      Outcome
	Backends     []Backend // in the order of the row; with SentOn only
	// Ambiguous means that another row of the same switch or router has the same VIP. Which one OVN uses is undefined;
	// the result is that of the row whose UUID comes first.
	Ambiguous bool
	// Fault is why the chassis cannot carry out the row, such as a missing variable; nil if it can.
	Fault error
}

// Backend is a backend that a packet may be sent to, and the results of the ACLs for it.
type Backend struct {
	Addr netip.AddrPort
	Port string // the logical switch port that has the address; "" if none has
	// Hairpin means that the backend is the sender. The packet then comes back without from-lport ACLs after load
	// balancing, and its source is the load balancer's hairpin_snat_ip, or the VIP if it has none.
	Hairpin bool
	Allowed bool
	Egress  Step
	Ingress Step
}
