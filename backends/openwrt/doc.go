// Package openwrt keeps one CNF in sync with the device intents and policies of a snapshot that apply to it.
//
// It reads a device, makes plans and writes. What needs no device is in packages below it: render has what a device should have,
// device what it has, compare the ops between the two, and kernel what of it the kernel has.
//
// # Which objects intents become
//
// Each device intent becomes one object of the device, of the kind that package render lists. A tunnel with its connections is one object, and an
// application whose set has no IPv4 address becomes no object. Policies that the CNF enforces become firewall rules, see package firewall. Load
// balancers do not apply to CNFs: they are neither written nor reported.
//
// Of an intent that is Unknown only the kind is known. An owned object of that kind that no other intent wants may belong to
// it: while there is such an intent, no object of the kind is removed, except those that an intent declares Gone.
//
// Networks are the interfaces of the CNF in them. Secrets are read when a plan is made. A Secret that cannot be read is a skip
// that names it, and the previous configuration stays. A changed Secret is detected at the next read-back.
//
// # How a restarted process recognizes its objects
//
// By their names, which are all that the device stores. The names of an owner begin with n and four digits of the owner's hash;
// then come digits of the hash of owner, kind and ID, and, if there is room, something readable. Two owners of one device have
// the same prefix with a probability of 1 in 1.6 million. If two intents have the same name, this is reported and the second
// one is skipped. Objects with other names are never changed, except those that an intent adopts: they are written like owned
// objects while the intent exists, deleted when it is Gone, and left alone when the intent no longer adopts them.
//
// Certificates cannot be read back: the device returns garbage that changes with them. So when a remote with certificates is
// written, a record is left: a proposal that nothing refers to, whose name is a hash of what was written and of what the device
// then returns. A process that finds the matching record writes nothing; any other writes once. Proposals that no remote names
// have no effect. Records are not ops of a plan, except for the deletion of one that is obsolete.
//
// # Which order of writes is safe
//
// Objects are written before those that refer to them and deleted after them. Objects that the kernel can have only once (routes,
// rules and the addresses of applications) are deleted first, so that another object can take their place; in between, packets
// take another path. If two intents need the same place, the first by ID gets it.
//
// What takes effect at once is written before or after the reload of the firewall, so that what closes comes before what opens: see
// compare.stage and compare.InOrderWith; docs/sdewan.md says for each pair of parts which order is safe, and why. If that reload fails, what opens
// waits for the next plan; if ipsec fails, the firewall does, unless it only closes.
//
// The services mwan3, firewall and ipsec use their configuration only after they have read it: each that was written is reloaded
// once, however much was written. The pause after a reload delays what has to follow the next one, and nothing else. The action is
// always reload. For firewall it keeps connections and replaces the rules at once; for the other two the device treats it as a
// restart. Before the first write for a service another kind of record is left, and removed after the reload, so that if a process
// dies in between, the next one reloads the service. If the device takes no records, everything is written without.
//
// Of a remote's certificates the device deletes only the first, and strongSwan trusts every file of a CA. Before a remote has fewer than
// now, or is deleted, all its files are overwritten, which is checked; see section.Withdrawal.
//
// A write moves an object behind all others of its kind. Rules and translations between zones, and mwan3 rules, are brought into the order
// of their intents, see render.Decision. The order of rules between interfaces is undefined. The rules for policies do not depend on order. The Place of a
// translation counts at the moment when it is written, and several are written in the order of their places. If the chain is
// shorter than that, the device silently inserts nothing: a place that is not certain to exist is a skip.
//
// Routing rules are the exception: their order is that of their priorities, and the same on every replica. See precedence.
//
// # What is atomic
//
// Only a reload. The device replaces an object by deleting and creating it. If it rejects the second step, the previous object is
// restored; if the connection breaks in between, the new one is written once more; partial objects are removed. Only certificates
// that another process wrote cannot be restored, and the skip then says that they are lost.
//
// An object that the device rejects, or on which its scripts abort twice in a row, does not stop the others. It becomes a skip, in
// the plan that was applied and in those that follow, and is retried at each read-back or when it changes. Objects that need it
// wait with it. An object that is rejected because another is missing is retried once at the end. Any other error ends Apply, and
// the next plan reads everything back.
//
// # What cannot be expressed
//
// IPv6 addresses and prefixes. Conditions that the device would ignore, because the rule would then match more packets than it
// should: ports with protocols for which they are not evaluated, marks and hardware addresses in objects without such a field,
// places that it ignores. Strings that a shell on the device would interpret, and control characters. Connections have no if_id.
// Each of these is a skip.
//
// The type of a tunnel sets a switch for the whole device, which stays when the tunnel is deleted.
//
// # What cannot be read
//
// A kind that the device does not list is a skip: its objects are read one by one, and objects that are no longer wanted stay. A package
// whose lists do not arrive is left alone for a while, because each attempt may crash a daemon of the device; its size is limited in
// advance. An empty list counts only if an object that was there, or is wanted, does not exist either.
//
// # The kernel
//
// It keeps what the device forgets when its container restarts. Routes and routing rules are compared with it after each write and
// at each read-back, and what this process caused there is removed if nothing wants it any more: the device stores an object that
// the kernel has already, which changes nothing, and then deletes it, which removes exactly that. Translations between interfaces
// are not reported: each is drained before it is created, by an object whose place does not exist. Rules between interfaces are
// neither reported nor can a copy be removed: one stays until the pod is deleted, which is a skip if this process has seen it.
//
// The device reports the kernel unreliably, so no single reading counts, see agreed.
package openwrt
