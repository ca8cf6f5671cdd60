// Package nbtrace evaluates packets on the rows of an OVN Northbound database, as OVN's logical switches would.
//
// It reads ACLs, port groups, address sets, load balancers, switches and routers (Rows) once, and then returns for one
// packet which ACL decides in which direction, and to which backends it is sent. netloom uses it to answer questions from
// the actual content of a database, and to compare its own rows with the intent.
//
// Modelled are: the three stages (from-lport, from-lport with apply-after-lb, to-lport), tiers and pass, priorities, port
// groups that make an ACL apply to every switch with a member port, the expression language with its prerequisites and
// its errors, and the rule that one bad match voids its ACL and nothing else. Neighbor discovery and multicast listener
// messages pass on a switch that tracks connections.
//
// Load balancers: those of the switch where a packet enters, directly and through groups, then those of the router that
// it crosses. ACLs of the first stage see the VIP, all others the backend. If the backend is the sender, its own packet
// comes back to it with hairpin_snat_ip as the source, and skips the second stage. Templates are filled in with the
// variables of the chassis where the packet enters; if one is missing, the VIP has no rule there, not even one that
// rejects. A VIP that two rows have is reported as an error, and so is what OVN 23.03 refuses or fails on. IPv4 loopback
// and IPv6 link-local addresses belong to no port: backends there have none.
//
// What OVN may understand and this package does not, such as an unknown field, makes the parts of a match unknown that contain
// it. Where such a part may decide, the verdict is Unknown, which counts as denied; it is never a guess. A source port that a
// packet does not name is one of the ephemeral ports. A port group is also two address sets, "$group_ip4" and "$group_ip6".
// A packet that leaves a switch for a router or the outside, or comes from there, is evaluated at that port of the switch
// too, unless it is load-balanced.
//
// Replies pass a switch that tracks connections, and are packets like any other elsewhere (RepliesPass); Trace is about the first
// packet of a connection.
//
// A Judge answers for all destination ports at once, and ReadDump reads rows from a file.
//
// Not modelled are: the SNAT of a router for load-balanced packets (lb_force_snat_ip), health checks and affinity of load balancers,
// and where a packet to a VIP without a backend ends up. The expression language lacks integers in place of addresses, words
// compared with 0 or 1, and the fields that no policy uses.
package nbtrace
