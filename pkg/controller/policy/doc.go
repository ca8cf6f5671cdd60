// Package policy reports what becomes of NetworkPolicies and Services: it writes a PolicyStatus for each NetworkPolicy, and makes
// Events of both.
//
// A tracker notes which objects a new snapshot, a round of a loop or another writer of a PolicyStatus may concern, and adds them
// to a work queue. One worker takes them from there, and compares what pkg/report says of each in the present world with what was
// reported of it last. What happens within moments is reported in one write.
//
// The controller works in terms, as a process may lead and stop leading. Between terms it notes which objects there are and
// nothing else; a term begins by looking at all of them.
package policy
