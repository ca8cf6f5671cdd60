// Package vrouter is a model of the data plane of Tungsten Fabric: it computes, from nothing but objects of the configuration,
// whether the vrouter agents let the first packet of a connection pass. It knows no intents.
//
// # What is modelled
//
// Every interface has up to two lists of firewall policies. The first consists of the policies of the global application policy
// set that applies to all applications, then of those of each set that shares a tag with the interface, in the order of the IDs
// of the tags. The second consists of the policies of the sets that share a tag of the type neutron_fwaas. Both must pass, at the
// interface of the source and at that of the destination. An empty list passes everything; one that is not empty ends in deny.
// Policies and rules are in the order of their sequences, compared as text; of two with the same sequence one is lost.
//
// Each list is evaluated with both ends of the packet. The tags of an end are those of the interface that has its address in the
// virtual network of the other end, or in any network if only one interface has it; addresses outside have none. An interface
// inherits the tags of its virtual machine, virtual network and project: of one type the nearest wins. Of several tags of one type, an
// agent keeps a single one, except for labels, and which one is not defined: a verdict tells whether it depends on that.
//
// The agent's peculiarities are modelled as well: an address group skips labels of ID 0, an unknown address group matches any
// address, SCTP packets have the port 0, a rule without an action never matches.
//
// A floating IP with port mappings translates connections to its address and ports, to any of its interfaces. The lists of the source
// are matched against the floating address and its port, as are those of the destination on another host; on the same host those of
// the destination are matched against the interface's own address and port. Which tags the route of a floating address has is
// unverified if it leads to several interfaces: Balance tries all and reports whether the verdict depends on them.
//
// # What is not
//
// Network policies, security groups, mirroring, link-local services, and the exceptions for gateways and for multicast. How an
// interface reaches itself through a floating address is unverified on a real vrouter, as is everything about translation.
package vrouter
