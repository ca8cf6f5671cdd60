// Package nbtrace judges packets on the rows of an OVN Northbound database, as OVN's logical switches would.
//
// It reads ACLs, port groups, address sets, load balancers, switches and routers (Rows) once, and then says of one
// packet which ACL decides in which direction, and to which backends it is sent. It is how netloom answers questions
// from what is really in a database, and how its own rows are compared with what was wanted.
//
// What is modelled: the three stages (from-lport, from-lport with apply-after-lb, to-lport), tiers and pass, priorities,
// port groups that make an ACL apply to every switch with a member port, the expression language with its prerequisites
// and its refusals, and the rule that one bad match voids its ACL and nothing else. Neighbour discovery and multicast
// listener messages pass on a switch that tracks connections.
//
// Load balancers: those of the switch where a packet enters, directly and through groups, then those of the router that
// it crosses. ACLs of the first stage see the VIP, all others the backend. A backend that is the sender sees its own
// packet come back, from hairpin_snat_ip and past the second stage. Templates are filled in with the variables of the
// chassis where the packet enters; one that it lacks leaves the VIP without a rule there, even one that refuses. A VIP
// that two rows have is a fault, and so is what OVN 23.03 refuses or chokes on. Loopback addresses of IPv4 and link-local
// ones of IPv6 are nobody's: backends there stand for none.
//
// What is not: replies (ask about the first packet of a connection), what a router does to the source of a balanced
// packet (lb_force_snat_ip), health checks and affinity of load balancers, where a packet to a VIP without a backend ends
// up, ACLs on packets that a router port sends or receives, allow-stateless overriding stateful ACLs, default_acl_drop,
// and the address sets that OVN derives from port groups ("$group_ip4"): list them as address sets. The expression
// language lacks subfields, masked integers, integers in place of addresses, words compared with 0 or 1, and the fields
// that no policy uses; they are reported as faults.
package nbtrace
