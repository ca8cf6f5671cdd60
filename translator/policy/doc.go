// Package policy translates NetworkPolicies, and the nodes that reach their own pods whatever policies say.
//
// What pods do translates no policy anew, with one exception: a named port that resolves to a number for the first time,
// or for the last. With an own node, snapshots show only the policies that select a pod there.
package policy
