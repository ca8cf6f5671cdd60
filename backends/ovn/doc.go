// Package ovn renders intents as rows of an OVN Northbound database.
//
// # Which rows intents become
//
// Each set that is the subject of a policy becomes a Port_Group with the logical ports of its members, shared by all
// policies of that subject. The group has the ACLs: to-lport for ingress, from-lport with apply-after-lb for egress.
// The parts that rules of several policies have in common (intent.Rule.Parts) become ACLs of one group, that of the set of all their
// subjects. These ACLs do not name a policy. Notes do: an Address_Set without addresses for each namespace, see notes.go.
//
// Each set that is the peer of a rule becomes one Address_Set for each address family, except that a few prefixes are
// written into the match instead. Everything isolated in a direction is in one further port group, with one ACL that drops,
// and one that lets address resolution pass. What staged policies select in a direction is in another one, with one ACL that logs new
// connections and decides nothing.
//
// A match names one address family and one address set, without negations, and merges the ports of a protocol, so that
// the data plane needs as many flows as the set has addresses, not products of them.
//
// Each load balancer becomes one Load_Balancer for each protocol and scope, a scope being a set of options and a place.
// The rows are in a Load_Balancer_Group that the switches and routers of their network refer to. If the backends of a
// frontend depend on the node, its value is a template variable, which has its own value on each chassis.
//
// # Tiers
//
// If the schema has tiers (OVN 23.06 and later), admin and baseline policies are ACLs of tiers 1 and 3, with NetworkPolicies in tier 2
// between them, and pass rules have the action pass. Otherwise their ACLs have priorities above and below those of NetworkPolicies, and
// pass rules are lowered (intent.Lowering): rules of the later tiers are repeated above, narrowed to what passes. The rules of a policy
// keep their ACL priorities whatever others do, unless these have the same policy priority or there are very many rules: see band. Denials
// never apply to ARP, nor to a pod that reaches itself through a load balancer.
//
// # Stages of a plan
//
// Plan decides what to look at (since). The first plan reads everything back (fullplan): it reads the database (observe, loadbalancers),
// renders policies (render) and load balancers (internal/lb), keeps what must not be deleted (keptports, lost) and compares (internal/nb).
// From then on the model is what the database has, and a plan only handles what changed (changeplan): load balancers, and the groups,
// address sets and members of policies (policyplan). Either way the operations are split into transactions (arrange), and their effect on
// the model is pending until Apply has written them (pending). Changes by others are recorded (watch) and undone individually (repair). No
// stage calls back into the backend.
//
// # Logical ports
//
// Logical ports are not created, but found by name or external_ids (PortNames). An endpoint without one is not in its
// groups until the port appears, which wakes the backend.
//
// # Which order of writes is safe
//
// A plan is one transaction, and OVSDB transactions are atomic. Only a plan of more than maxGroup operations is split:
// rows that nothing refers to yet are written first, rows that nothing refers to any more are deleted last, and the
// rest is still one transaction. Into a database without our rows, the groups that drop are written last.
//
// # How a restarted process finds its rows
//
// Every row carries external_ids netloom.io/owner and netloom.io/id, and its UUID is derived from the two (UUIDv5): a row
// cannot be inserted twice. If another writer uses the name of a row, the row gets another name (nb.Namer). Rows with our owner that are
// not wanted are removed; rows of other owners and without an owner are never touched. A row that lost its mark is recognized by its UUID,
// which only we derive, and is marked again. Load_Balancer_Group has no external_ids, and a Chassis_Template_Var may have variables of
// others: there a row is ours by its UUID alone, and a variable by its name. In switches and routers, references to our rows are ours.
//
// # How changes by others are noticed
//
// From each read-back on the database reports changes of rows with our mark, of load balancer groups, and of references in
// switches and routers. After each plan they are compared with the intended changes of its operations, element by element:
// the cost depends on the plan, not on the size of the rows. A server reports what a transaction changed before it replies
// to it, so changes that no operation explains were made by others. Repair reads and writes the rows that they changed, and those
// alone; what the model does not have takes a read-back. An intended
// change that is not reported, because it was so before or because others undid it, is checked by a select of that row.
// References to deleted logical ports disappear by themselves. Not watched: our variables in Chassis_Template_Var rows of
// others.
//
// # Who may write
//
// An instance that claimed the database (NB_Global.external_ids, KeyClaim) begins each transaction with a wait for its own
// claim, so that the database rejects all of it once there is a later one. A claim is not one of our rows: plans do not
// contain it. Each transaction has a comment with the owner and the claim.
//
// # What is atomic, what is not expressible
//
// Everything that a NetworkPolicy can express is expressible; rules with ports of other protocols than TCP, UDP and SCTP
// are skipped, which denies them. ACLs of other owners on the same ports are not considered: OVN's own priorities and
// tiers decide between them.
//
// While load balancers are unavailable (Snapshot.Unknown), everything that the database has for them stays as it is:
// their rows, groups and template variables, references of switches and routers, and their ACLs.
//
// VIPs of other writers' load balancers are left to them; session affinity is limited; sources are denied by ACLs on
// switches, or the frontend is left out. Skips report it each time.
package ovn
