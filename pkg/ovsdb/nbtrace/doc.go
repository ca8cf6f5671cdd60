// Package nbtrace judges packets on the rows of an OVN Northbound database, as OVN's logical switches would.
//
// It reads ACLs, port groups, address sets and switches (Rows) once, and then says of one packet which ACL decides in
// which direction. It is how netloom answers questions from what is really in a database, and how its own rows are
// compared with what was wanted.
//
// What is modelled: the three stages (from-lport, from-lport with apply-after-lb, to-lport), tiers and pass, priorities,
// port groups that make an ACL apply to every switch with a member port, the expression language with its prerequisites
// and its refusals, and the rule that one bad match voids its ACL and nothing else. Neighbour discovery and multicast
// listener messages pass on a switch that tracks connections.
//
// What is not: load balancers (ask with the backend's address), replies (ask about the first packet of a connection),
// ACLs on packets that a router port sends or receives, allow-stateless overriding stateful ACLs, default_acl_drop,
// and the address sets that OVN derives from port groups ("$group_ip4"): list them as address sets. The expression
// language lacks subfields, masked integers, integers in place of addresses, words compared with 0 or 1, and the fields
// that no policy uses; they are reported as faults.
package nbtrace
