// Package translator turns cluster objects into intents.
//
// A Translator is fed the current objects, Put and Remove, in any order; Snapshot then answers with what a network has to
// do, as an intent.Snapshot, and Problems with what could not be expressed. The answer depends on the current objects
// alone: whatever the order in which they came, the same objects give the same snapshot, and one that starts from
// scratch gives the same as one that has lived through every change.
//
// Pods and namespaces go into a label cache, which keeps the sets; a change of theirs never translates a policy anew,
// with one exception: a named port that resolves to a number for the first time, or for the last.
//
// The work is done by three domains that do not know each other: package policy makes policies of NetworkPolicies and nodes,
// package service load balancers of Services, and package sdwan device intents of SD-WAN resources. Each holds the objects that
// it translates, marks in the one queue of package dirty what a change concerns, and translates that when a snapshot is
// taken. They share the sets that objects use (package sets), the reading of fields (package field), and the rule for what
// only one of several can have (package owner).
//
// # One node
//
// With Options.Node only the pods on that node are subjects of policies; pods anywhere are peers, and Services have all of
// their backends. A pod that names no node yet is nobody's subject. That is for a network whose nodes have a database each:
// a connection then passes when the translator of its source's node lets it out and that of its destination's node lets it
// in, which together is the verdict of a translator for all nodes.
//
// A subject is its selector and the node, which the label cache keeps like any set, so a pod that comes to the node or goes
// away costs the sets that it is in. Policies are translated all the same, but a snapshot shows only those that select a pod
// here, with the sets that these need: what happens elsewhere and concerns nobody here makes no new snapshot. No ID names the
// node. Of the nodes only the own one is shown: no flow enters at another.
//
// The package is pure: no client, no clock, no logger, no goroutine.
package translator
