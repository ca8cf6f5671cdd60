// Package policy reports the state of policies and Services: it writes a PolicyStatus for each NetworkPolicy, the conditions
// Accepted and Enforced into the status of each cluster-wide policy, and creates Events for all of them. If each node has a
// netloom, the types of conditions end in the node's name, as each node reports on its own targets.
//
// A tracker finds out which objects a new snapshot, a round of a loop or another writer of a PolicyStatus may affect, and
// adds them to a work queue. One worker takes them from there, and compares the result of pkg/feedback/policy/report for each in the
// present world with the last report. What happens within moments is reported in one write.
//
// The controller works in terms, as a process may become the leader and stop leading. Between terms it only tracks which
// objects exist; a term begins by processing all of them.
package policy
