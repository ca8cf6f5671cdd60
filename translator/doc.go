// Package translator turns cluster objects into intents.
//
// A Translator receives the current objects through Put and Remove, in any order. Snapshot then returns what a network
// has to do, as an intent.Snapshot, and Problems what could not be expressed. The result depends only on the current
// objects: in whatever order they arrive, the same objects give the same snapshot, and a new Translator gives the same as
// one that has seen every change.
//
// Pods and namespaces go into a label cache, which keeps the sets; a change of theirs never causes a policy to be
// translated again, with two exceptions: a named port that resolves to a number for the first time, or no longer, and a rule that
// passes, when other namespaces are selected by its policy.
//
// The work is done by three domains that do not know each other: package policy makes policies of NetworkPolicies and nodes,
// package service load balancers of Services, and package sdwan device intents of SD-WAN resources. Each holds the objects that
// it translates, marks what a change concerns in the queue of package dirty, and translates that when a snapshot is taken. They
// share the sets that objects use (package sets), the parsing of fields (package field), and the rule for what only one of
// several can have (package owner).
//
// # One node
//
// With Options.Node only the pods on that node are subjects of policies; pods anywhere are peers, and Services have all of
// their backends. A pod without a node yet is not a subject. This is for networks with one database per node: a connection
// then passes if the translator of its source's node allows it to leave and that of its destination's node allows it to
// enter, which together is the verdict of a translator for all nodes.
//
// A subject is its selector and the node, which the label cache keeps like any set, so the cost of a pod that appears on the
// node or leaves it depends on the sets that it is in. All policies are translated, but a snapshot shows only those that
// select a pod on the node, with the sets that these need: changes elsewhere that concern no pod here do not create a new
// snapshot. No ID contains the node's name. Only the own node is shown, since no flow enters at another.
//
// The package is pure: no client, no clock, no logger, no goroutine.
package translator
