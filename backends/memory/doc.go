// Package memory is a backend whose target lives in the process: plain rows, one for each set, rule, isolation
// and load balancer.
//
// It exists to show what a backend is without the details of a real system, and to run scenarios. Everything that an
// intent can express has a row here, so its skips hold only what intents do not define (an action or a kind of peer of
// some later version).
//
// Rows. A "set" holds the addresses, member keys and prefixes of one intent.Set. A "rule" holds one rule of one policy
// that allows something. An "isolation" denies what no rule allows: one for each direction, whose subject is the
// intent.IsolatedSet, and one for each policy that wants its denials logged. A "balancer" lists, for each frontend of
// one load balancer, the backends a flow is sent to, with further entries for senders and nodes that have a choice of
// their own; an endpoint that is added or removed changes those entries and nothing else.
//
// Ownership. Every row carries the owner it was written for. A backend reads, writes and sweeps rows of its owner only,
// so a new process recognizes what an earlier one left, and rows of other owners or without an owner stay.
//
// What is unavailable. While the load balancers of a snapshot are unavailable, the rows of balancers stay as they are.
//
// Order of writes. A group is atomic. The first creates sets that no row names yet, the second does everything that
// changes a verdict, the third deletes sets that no row names any more. So no verdict ever occurs that neither the old
// nor the new state gives, and no row names a missing set.
package memory
