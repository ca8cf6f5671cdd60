// Package sdwan translates SD-WAN resources, Services that CNFs lead to, and the pods of the CNFs themselves.
//
// A pod with the label sdewanPurpose is a CNF as well as an endpoint, and an SD-WAN resource with the same value, in the same
// namespace unless Options.ClusterWide says otherwise, becomes device intents for all CNFs of that scope. A resource without
// the label is for none. What pods do translates no resource: which interface a network is on, each CNF says for itself,
// and the pods of a SdewanApplication are a set that the label cache keeps.
//
// A resource may name a zone, policy or proposal. If there is such a resource for the same scope, in the same namespace, it
// refers to that; otherwise to something that a person made on the devices. So order is free: when the resource that is
// named comes or goes, those that name it are translated anew, and when it is merely edited they are not. The same index
// leads from Services and DNS names to the CNFServices, CNFLocalServices and CNFHubSites that name them. This package asks
// no DNS: Hosts says which names are wanted, SetHost what they are.
//
// A resource with a deletionTimestamp keeps its intents, as Gone. One that cannot be read, because it met no API server that
// knows the CRD, is a Problem and has no intents: what it had on the devices goes. That holds for rules that deny, too: a
// rule of which only half is understood would deny something else than was meant. Whatever is to be refused in any case is
// the zone's own policy, or what no forwarding lets pass. What names an unreadable resource is left out with it.
//
// A port of the CNFs leads to one service. A CNFService goes before a Service that has the port by its label
// (Options.ServiceRules), then the older of two before the younger; the others get a Problem.
package sdwan
