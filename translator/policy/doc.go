// Package policy translates NetworkPolicies, and nodes, which reach their own pods whatever policies say.
//
// Changes of pods never cause a policy to be translated again, with one exception: a named port that resolves to a
// number for the first time, or no longer. With an own node, snapshots show only the policies that select a pod there.
//
// A staged policy (object.IsStaged) translates to nothing. That is decided here and nowhere else, so no target ever has a part of it.
//
// # Stages
//
// Table keeps the objects (objects) and what they translated to (result), and decides what is translated again: what was put or removed,
// and what depends on it (dependents) or on the budget of its namespace (budgets). One object is translated from its form in the API
// (networkpolicy, clusterpolicy with its forms, node, opaque) through its lists of peers and ports (peers, ports, clusterpeers,
// clusterports) to rules (rules) that retain sets (translation). Then what rules have in common is split off (divider, sharing). At the
// end Settle writes what a snapshot shows of it.
package policy
