// Package flows turns the entries of ACL logs into flows between pods, with the policy and the rule that decided, and counts
// them in a table of bounded size.
//
// A Guide knows the pods and the policies of one state; a Table counts. Neither trusts what a log says: addresses and ports are
// chosen by whoever sends packets, and names of ACLs by whoever writes policies.
package flows
