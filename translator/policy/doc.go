// Package policy translates NetworkPolicies, and nodes, which reach their own pods whatever policies say.
//
// Changes of pods never cause a policy to be translated again, with one exception: a named port that resolves to a
// number for the first time, or no longer. With an own node, snapshots show only the policies that select a pod there.
package policy
