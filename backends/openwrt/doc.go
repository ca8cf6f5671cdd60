// Package openwrt makes one CNF hold what a snapshot says of the CNFs of its scope.
//
// # What becomes what
//
// Each device intent becomes one object of the device, of the kind that kinds says; a tunnel with its connections is one,
// and an application whose set has no IPv4 address is none. Policies that the CNF enforces become rules of the firewall,
// see policyRules. Load balancers are not for a CNF: nothing is said of them.
//
// Of an intent that is Unknown only the kind is known. What is ours of that kind and nobody wants may be what it asks for:
// so nothing of the kind is swept while there is such an intent, except what an intent says is Gone.
//
// Networks are the CNF's interfaces in them. Secrets are read when a plan is made; one that cannot be read is a skip that
// names it, and what was written for it before stays. A Secret that changes is noticed at the next read-back.
//
// # How a restarted process knows its objects
//
// By their names, which are all that the device keeps for us. Every name of an owner begins with n and four digits of the
// owner's hash; then come digits of the hash of owner, kind and ID, and, where there is room, something to read. Two owners
// of one device have the same beginning once in 1.6 million times; two intents with one name are told, and the second is
// skipped. Objects of other names are never touched, except those that an intent adopts: they are written like our own while
// the intent is there, deleted when it is Gone, and left as they are when the intent just adopts no more.
//
// Certificates cannot be read back, only rubbish that changes with them. So, when a remote with certificates is written, a
// note is left: a proposal that nothing refers to, whose name is a hash of what was written and of what the device then
// shows. A process that finds the note for what it wants and sees writes nothing; any other writes once. Proposals that no
// remote names have no effect. Notes are no ops of a plan, except that one that is of no use any more is deleted.
//
// # Which order of writes is safe
//
// What is referred to is written first and goes last. But what the kernel holds once only, namely routes, rules and the
// addresses of applications, goes first, so that another object can have its place; in between, packets take another way.
// Two intents that want one such place have it in the order of their IDs.
//
// What the services mwan3, firewall and ipsec are told takes effect when they read it: once for each, at the end, whatever
// was written. The action is always reload. For firewall it keeps connections and replaces rules at once; for the other two
// the device knows no difference to restart. Before the first write for a service a second kind of note is left, and taken
// away when the service has read: so a process that died in between is followed by one that has it read. The first plan of
// a process that writes anything has all services read in which we hold something.
//
// A write moves an object behind all others of its kind. So nothing is promised about the order of the rules of one kind:
// not of rules of the firewall, nor of mwan3, nor of rules and translations between interfaces. Rules of policies need none.
// A translation's Place counts at the moment when it is written, and several are written in the order of their places; the
// device puts in nothing, and does not say so, where the chain is shorter than that.
//
// # What is atomic
//
// Nothing but a service's reading. The device puts by deleting and creating. When it refuses the second half, the object
// that was there is put back; when it breaks off in between, the new one is written once more; what is there by half is
// taken away. Only certificates that another process wrote cannot be put back, and then the skip says that they are lost.
//
// An object that the device refuses stops no other. It is a skip, in the plan itself once that was applied and in those that
// follow, and is tried again at each read-back or when it is another. What needs it waits with it. An object that is
// refused for want of another is tried once more at the end. Every other error ends Apply, and the next plan reads back.
//
// # What is not expressible
//
// No address or prefix of IPv6. No condition that the device would pass over, because a rule would then be for more packets
// than it should: ports with protocols for which it does not look at them, marks and hardware addresses where it has no such
// field, places that it ignores. No text that a shell would read otherwise, where the device hands it to one, and no
// control characters. Connections have no if_id. Each is a skip.
//
// The type of a tunnel sets a switch of the whole device, which stays when the tunnel goes. What rules between interfaces
// have put into the kernel survives a restart of the device's container, which forgets its configuration: they are then
// there twice, and one of the two stays until the pod goes. If somebody else makes two such objects of one name, likewise.
package openwrt
