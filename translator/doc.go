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
// A Service is translated together with its EndpointSlices and, for node ports, the nodes' addresses: a change of one of
// them translates that Service anew and looks at no other. Which of several Services has an address and port is decided
// once all of them have said what they want.
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
// # Gateways
//
// A pod with the label sdewanPurpose is a gateway as well as an endpoint, and an SD-WAN resource with the same value, in the
// same namespace unless EdgeOptions.ClusterWide says otherwise, becomes edge intents for all gateways of that scope. A
// resource without the label is for nobody. What pods do translates no resource: which interface a network is on, each
// gateway says for itself, and the pods of a SdewanApplication are a set that the label cache keeps.
//
// A resource may name a zone, policy or proposal. If there is such a resource for the same scope, in the same namespace, that
// is meant; otherwise it is something that a person made on the gateways. So order is free: when the one that is named
// comes or goes, those that name it are translated anew, and when it is merely edited they are not. The same index leads
// from Services and DNS names to the CNFServices, CNFLocalServices and CNFHubSites that speak of them. This package asks no
// DNS: Hosts says which names are wanted, SetHost what they are.
//
// A resource with a deletionTimestamp keeps its intents, as Gone. One that cannot be read, because it met no API server that
// knows the CRD, is a Problem and has no intents: what it had on the gateways goes. That holds for rules that deny, too: a
// rule of which only half is understood would deny something else than was meant. Whatever is to be refused in any case is
// the zone's own policy, or what no forwarding lets pass. What names an unreadable resource is left out with it.
//
// A port of the gateways leads to one service. A CNFService goes before a Service that has the port by its label
// (EdgeOptions.ServiceRules), then the older of two before the younger; the others are told in a Problem.
//
// The package is pure: no client, no clock, no logger, no goroutine. One file holds one kind of object, or those that are
// closely related.
package translator
