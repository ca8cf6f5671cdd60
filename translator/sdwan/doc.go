// Package sdwan translates SD-WAN resources, Services that are reachable through CNFs, and the pods of the CNFs themselves.
//
// A pod with the label sdewanPurpose is a CNF as well as an endpoint, and an SD-WAN resource with the same value, in the same
// namespace unless Options.ClusterWide says otherwise, becomes device intents for all CNFs of that scope. A resource without the label
// applies to none. Changes of pods do not cause resources to be translated: each CNF has its own interfaces of networks, and the pods of a
// SdewanApplication are a set that the label cache keeps.
//
// A resource may name a zone, policy or proposal. If there is such a resource for the same scope, in the same namespace, it
// refers to that; otherwise to something that a person created on the devices. So resources may be created in any order:
// when the named resource is created or deleted, those that name it are translated again, but not when it is only edited.
// The same index maps Services and DNS names to the CNFServices, CNFLocalServices and CNFHubSites that name them. This
// package does not query DNS: Hosts lists the names to resolve, and SetHost sets their addresses.
//
// A resource with a deletionTimestamp keeps its intents, as Gone. One that is invalid, because no API server validated it,
// is a Problem and has no intents: what it had on the devices is deleted. That applies to rules that deny, too: a rule that
// is only partly understood would deny something other than intended. Traffic that has to be denied in any case is denied by
// the zone's own policy, or by the lack of a forwarding. Resources that name an invalid resource are left out as well.
//
// A port of the CNFs belongs to one service. A CNFService takes precedence over a Service that has the port by its
// label (Options.ServiceRules), then the older over the younger; the others get a Problem.
package sdwan
