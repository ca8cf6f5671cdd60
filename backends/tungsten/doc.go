// Package tungsten keeps the policies and load balancers of one owner on a Tungsten Fabric controller in sync with a snapshot: tags of
// interfaces, address groups, firewall rules, firewall policies, two application policy sets, and load balancers.
//
// # What becomes what
//
// A set that rules use becomes a tag of the type label, of which an interface can have many: one for each role of the set, as a
// subject or a peer of rules that allow or deny. Interfaces of the set's members have the tag. Prefixes of peers become an address
// group. So do single addresses: those of members that count only within prefixes, and those of endpoints that share others. A rule
// of an intent becomes a firewall rule for each range of ports and for members and prefixes; it never changes, since its name
// depends on its content.
//
// Each direction has an application policy set with one firewall policy for each stage: system, admin, deny, allow, isolation,
// baseline, rest, and before them as many for connections to the addresses of Services (VIPs). A connection has to pass both sets. That of ingress is tied to a label, that of egress to a tag of the type
// neutron_fwaas, because the vrouter evaluates such sets apart from all others and requires both to pass. A set applies only to
// interfaces with its tag: those of endpoints that policies govern. See docs/adr/0016-tungsten-fabric.md.
//
// A VIP becomes an interface, an instance IP and a load balancer with a listener, a pool and members for each port. The vrouter matches
// connections to it before they are translated, so rules are rendered for VIPs as well. See docs/adr/0023-services-in-tungsten-fabric.md.
//
// # Stages of a plan
//
// The first plan reads everything back (fullplan, observe), adds what must not be deleted (lost, unavailable) to what was rendered, and
// compares. Later ones read what the change stream shows (stream, interfaces, reread) and plan what changed (changeplan): members alone,
// or everything rendered again. Rendering (render) turns policies into rules (rule, and viprule for VIPs) of a rendering, and load balancers
// into objects (balancer). What is compared (diff, balancerdiff) becomes ops, whose effects on connections decide on their order (effects,
// propose). Apply writes them, several at once (rounds), and goes on when one is refused (apply, refusal). What others changed is found and repaired on its own
// (ownevents, watcher). No stage calls back into one before it; only an Apply for which tag IDs run out plans once more.
//
// # What this target cannot express
//
// It matches no ports of SCTP and no types of ICMP, and protocols only by some names. Rules that pass are lowered, see
// intent.Lowering. An ordered stage has at most 4,000 rules, an address group 15,000 prefixes, and the controller 32,768 labels. What
// does not fit is denied and reported. Nothing is logged. For why a frontend is not served, see
// balancers.unservable.
//
// # Which order of writes is safe
//
// There are no transactions: each op is a request and a group of its own. Ops of a phase may be written in any order, and up to eight are
// written at once. What is referred to is created before and deleted after
// what refers to it. Rules of ordered stages are replaced by one request. In every other respect a write either opens or closes
// connections, because each tag is used for one purpose. If a plan cannot open in one direction what it closes in the other, it opens
// first and closes afterwards; else it closes first. Neither order opens what both states deny. See effects. Load balancers change
// after what closes and before what opens.
//
// # How a restarted process knows its objects
//
// The names of objects and the values of tags begin with netloom.OWNER., and annotations name the owner, too. UUIDs are derived from
// the names and begin with the same bytes for an owner, by which references to missing objects are recognized. Of an object of a load balancer, whose name
// somebody else may have chosen, the UUID has to be the derived one. Nothing else is
// changed, and nothing is deleted before everything was read without a fault.
package tungsten
