package ovn

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// ACL priorities of TierNetworkPolicy, within OVN's 0 to 32767. Isolation drops with the lowest priority, then come logged drops
// of policies, what rules allow, what rules deny, and address resolution, which nothing else matches. A pod always reaches itself
// through a load balancer, so that comes before what rules of its group deny. See band for the other tiers.
//
// They are where kube-ovn has its own network policies (2000 and 2001): below them it lets the pods of a private subnet (1001), or of one
// with allowEWTraffic (1900), reach each other, which must not come before isolation; above them, its security groups drop (2003).
const (
	priorityDrop       = 2000
	priorityLoggedDrop = 2001
	priorityAllow      = 2002
	priorityDeny       = 2003
	priorityResolution = 2003
	priorityHairpin    = 2004
)

// resolution matches what a host needs to find its neighbours over IPv4. Over IPv6 OVN itself lets neighbor and router
// discovery and MLD pass on every switch that tracks connections (ovn-northd(8)).
const resolution = "arp"

// defaultBurst lets a meter's first packets of a second through at once, in packets.
const defaultBurst = 10

// renderer turns policies into rows. It is pure: the rows depend only on the snapshot, the names and the schema.
type renderer struct {
	names  nb.Namer
	rate   uint32 // log lines per second if a policy names no rate; 0 means no limit
	want   *intent.Snapshot
	schema ovsdb.Schema // columns that it does not have are left out
	// dropsByDefault is whether OVN drops what no ACL matches.
	dropsByDefault bool
	hairpins       [2]netip.Addr // the sources of pods that reach themselves through load balancers
	// unavailable is what the database has for load balancers while they are unavailable; nil while they are available.
	unavailable *unavailable

	skips []backends.Skip                           // what could not be expressed, collected while rendering
	rules map[*intent.Policy]map[intent.SetID][]int // see rulesOf; nil until needed

	independent map[*intent.Policy]bool     // see isIndependent; nil until needed
	placed      map[intent.PolicyID][]place // see places; nil until needed
	texts       map[netip.Addr]string       // see text; nil until needed
}

// policy adds what a group has of a policy.
func (r *renderer) policy(to *draft, p *intent.Policy) {
	if p.Isolates && p.Subject == to.subject && p.Log.Deny != intent.SeverityNone {
		r.logDrops(to, p)
	}
	for _, i := range r.rulesOf(p)[to.subject] {
		rule, reason := r.failsClosed(p, i)
		if reason != "" {
			r.skip(p, p.Rules[i].Path, reason)
		}
		if rule != nil {
			r.ownParts(to, p, rule, r.placeOf(p, i))
		}
	}
}

// ownParts renders what a rule does not have in common with others.
func (r *renderer) ownParts(to *draft, p *intent.Policy, rule *intent.Rule, at place) {
	parts := partsOf(rule)
	if parts == nil {
		r.rule(to, p, rule, at)
	}
	for _, part := range parts {
		if part.Shared == "" {
			r.rule(to, p, narrowed(rule, part.Peer), at)
		}
	}
}

// groups renders all groups of policies that are ordered by ID: those of their subjects and of what they share, and those of gathered
// subjects that are named besides.
func (r *renderer) groups(policies iter.Seq[*intent.Policy], besides ...intent.SetID) map[intent.SetID]*group {
	bySubject := map[intent.SetID][]*intent.Policy{}
	for _, s := range besides {
		bySubject[s] = nil
	}
	for p := range policies {
		for _, s := range subjectsOf(p) {
			bySubject[s] = append(bySubject[s], p)
		}
	}
	groups := r.sharedGroups(policies)
	for subject, list := range bySubject {
		groups[subject] = r.group(subject, list)
	}
	return groups
}

// rulesOf returns the rules of p, by their index, by subject, always including the policy's own subject. They are grouped once for each
// policy, as there may be as many subjects as rules.
func (r *renderer) rulesOf(p *intent.Policy) map[intent.SetID][]int {
	if rules := r.rules[p]; rules != nil {
		return rules
	}
	rules := map[intent.SetID][]int{p.Subject: nil}
	for i := range p.Rules {
		subject := subjectOf(p, &p.Rules[i])
		rules[subject] = append(rules[subject], i)
	}
	if r.rules == nil {
		r.rules = map[*intent.Policy]map[intent.SetID][]int{}
	}
	r.rules[p] = rules
	return rules
}

// inexpressible describes the part of a rule that OVN has no match for, "" if there is none.
func inexpressible(rule *intent.Rule) string {
	if rule.Action > intent.Pass {
		return fmt.Sprintf("%s has no ACL action", rule.Action)
	}
	if rule.Peer.Kind > intent.PeerAny {
		return fmt.Sprintf("peers of kind %d have no match", rule.Peer.Kind)
	}
	for _, ports := range rule.Ports.Ranges {
		switch ports.Protocol {
		case intent.TCP, intent.UDP, intent.SCTP:
		case intent.ICMP, intent.ICMPv6:
			fallthrough
		default:
			return fmt.Sprintf("%s has no ports in a match", ports.Protocol)
		}
	}
	return ""
}

// isolate returns the default deny of a direction.
func (r *renderer) isolate(to *draft, d intent.Direction) {
	subject := subjectMatch(d, r.names.PortGroup(to.subject))
	origin := map[string]string{nb.KeyDirection: d.String()}
	r.add(to, nb.ACL{
		Direction: d, Priority: priorityDrop, Action: nb.ActionDrop, Match: subject + " && ip",
		Name: "netloom default deny " + d.String(), IDs: origin, Origin: nb.OriginDeny + d.String(),
	})
	r.neighbours(to, d)
	if d == intent.Ingress {
		r.hairpin(to, subject)
	}
}

// neighbours lets ARP pass whatever a drop matches, and has connections tracked on every switch with a port in the group: OVN
// tracks none on a switch without an allow-related ACL, and would drop replies and neighbor discovery there.
func (r *renderer) neighbours(to *draft, d intent.Direction) {
	r.add(to, nb.ACL{
		Direction: d, Priority: priorityResolution, Action: nb.ActionAllow,
		Match: subjectMatch(d, r.names.PortGroup(to.subject)) + " && " + resolution,
		Name:  "netloom neighbours " + d.String(), IDs: map[string]string{nb.KeyDirection: d.String()},
		Origin: nb.OriginResolution + d.String(),
	})
}

// hairpin allows a pod to reach itself through a load balancer, if there is one. OVN gives such packets a source of their
// own and sends them back to the port that they came from, which the flag indicates: other packets with that source are
// not admitted. OVN does not evaluate egress rules for them.
func (r *renderer) hairpin(to *draft, subject string) {
	some := r.want.LoadBalancerCount() > 0
	if u := r.unavailable; u != nil {
		maps.Copy(to.acls, u.hairpins)
		some = u.loadBalancers > 0 && len(u.hairpins) == 0 // the first pods are isolated now
	}
	if !some {
		return
	}
	r.hairpinAt(to, subject, place{priority: priorityAllow})
}

func (r *renderer) hairpinAt(to *draft, subject string, at place) {
	origin := nb.OriginHairpin + intent.Ingress.String()
	for _, a := range r.hairpins {
		f := intent.FamilyOf(a)
		r.add(to, nb.ACL{
			Direction: intent.Ingress, Tier: at.tier, Priority: at.priority, Action: nb.ActionAllow,
			Match: fmt.Sprintf("%s && flags.loopback == 1 && %s == %s", subject, nb.AddressField(f, "src"), a),
			Name:  "netloom own service " + nb.FamilyName(f),
			IDs:   map[string]string{nb.KeyDirection: intent.Ingress.String(), nb.KeyTitle: origin}, Origin: origin,
		})
	}
}

// logDrops drops what isolation would drop, for one policy that logs drops.
func (r *renderer) logDrops(to *draft, p *intent.Policy) {
	r.add(to, nb.ACL{
		Direction: p.Direction, Priority: priorityLoggedDrop, Action: nb.ActionDrop,
		Match:    subjectMatch(p.Direction, r.names.PortGroup(to.subject)) + " && ip",
		Severity: p.Log.Deny, Rate: cmp.Or(p.Log.Rate, r.rate),
		Name: nb.RuleName(p.Origin, p.Direction.String()), IDs: nb.OriginIDs(p.Origin, p.Direction, "isolation"),
		Origin: p.Origin.String() + " isolation",
	})
}

// rule renders a rule: one ACL for each family of its peer and each protocol of its ports. What denies leaves address resolution
// alone, and the connections of a pod with itself, as isolation does.
func (r *renderer) rule(to *draft, p *intent.Policy, rule *intent.Rule, at place) {
	subject := subjectMatch(p.Direction, r.names.PortGroup(to.subject))
	action, severity := actionOf(p.Tier, rule.Action), p.Log.Deny
	switch action {
	case nb.ActionAllow:
		severity = p.Log.Allow
	case nb.ActionPass:
		severity = intent.SeverityNone
	case nb.ActionDrop:
		r.neighbours(to, p.Direction)
		if p.Direction == intent.Ingress {
			r.hairpinAt(to, subject, r.hairpinPlace(p.Tier))
		}
	}
	for _, match := range r.matches(to, subject, p.Direction, rule) {
		r.add(to, nb.ACL{
			Direction: p.Direction, Tier: at.tier, Priority: at.priority, Action: action, Match: match,
			Severity: severity, Rate: cmp.Or(p.Log.Rate, r.rate),
			Name: nb.RuleName(p.Origin, nb.ShortRule(rule.Path)), IDs: nb.OriginIDs(p.Origin, p.Direction, rule.Path),
			Origin: p.Origin.String() + " " + rule.Path,
		})
	}
}

// matches returns the match expressions of a rule, and notes the address sets that they refer to.
func (r *renderer) matches(to *draft, subject string, d intent.Direction, rule *intent.Rule) []string {
	var out []string
	for _, peer := range peerMatches(r.names, r.want, d, rule.Peer) {
		if peer.set != "" {
			to.peers[addressSetRef{peer.set, peer.family}] = true
		}
		for _, ports := range portMatches(rule.Ports) {
			terms := []string{subject}
			for _, t := range []string{peer.expr, ports} {
				if t != "" {
					terms = append(terms, t)
				}
			}
			if len(terms) == 1 {
				terms = append(terms, "ip")
			}
			out = append(out, strings.Join(terms, " && "))
		}
	}
	return out
}

// add puts an ACL into a draft. Equal rules share the row.
func (r *renderer) add(to *draft, acl nb.ACL) {
	uuid := acl.UUID(r.names, string(to.subject))
	if shared := to.acls[uuid]; shared != nil {
		to.share(shared, &acl)
		return
	}
	if acl.Metered() {
		to.meters[acl.Rate] = true
	}
	to.acls.Put(acl.Row(r.names, r.schema, uuid, r.names.PortGroup(to.subject)))
}

// portGroup returns the row of the group of a subject with ACLs and the logical ports of the subject, both by UUID and sorted.
func (r *renderer) portGroup(subject intent.SetID, acls, ports []string) *nb.Row {
	name := r.names.PortGroup(subject)
	return &nb.Row{
		Table: nb.TablePortGroup, UUID: r.names.UUID(nb.TablePortGroup, string(subject)), Name: name, Unit: name,
		Fields: backends.Fields{"name": name, "external_ids": r.setIDs(subject)},
		Sets:   map[string][]string{"ports": ports, nb.ColumnACLs: acls},
		Origin: r.title(subject),
	}
}

// addressSet returns the row of one family of a set: the addresses that count and the prefixes.
func (r *renderer) addressSet(ref addressSetRef) *nb.Row {
	as := r.emptyAddressSet(ref)
	set := r.want.Set(ref.set)
	var addrs []string
	for _, a := range set.Addrs() {
		if intent.FamilyOf(a) == ref.family {
			addrs = append(addrs, r.text(a))
		}
	}
	addrs = append(addrs, prefixesOf(set, ref.family)...)
	slices.Sort(addrs)
	as.Sets = map[string][]string{"addresses": slices.Compact(addrs)}
	return as
}

// text formats an address. A pod is in many sets, and its address is formatted once for all of them.
func (r *renderer) text(a netip.Addr) string {
	s, ok := r.texts[a]
	if !ok {
		if r.texts == nil {
			r.texts = map[netip.Addr]string{}
		}
		s = a.String()
		r.texts[a] = s
	}
	return s
}

// emptyAddressSet returns the row without its addresses.
func (r *renderer) emptyAddressSet(ref addressSetRef) *nb.Row {
	return r.titledSet(ref, r.title(ref.set))
}

// titledSet is emptyAddressSet for a set that the snapshot need not have.
func (r *renderer) titledSet(ref addressSetRef, title string) *nb.Row {
	name := r.names.AddressSet(ref.set, ref.family)
	return &nb.Row{
		Table: nb.TableAddressSet, UUID: r.names.UUID(nb.TableAddressSet, ref.id()), Name: name,
		Fields: backends.Fields{"name": name},
		Maps:   map[string]map[string]string{nb.ColumnExternalIDs: r.titledIDs(ref.set, title)},
		Origin: title,
	}
}

func (ref addressSetRef) id() string { return string(ref.set) + "/" + nb.FamilyName(ref.family) }

// meter returns the row, with its band, that limits log lines to rate per second.
func (r *renderer) meter(rate uint32) []*nb.Row {
	name := r.names.Meter(rate)
	band := r.names.UUID(nb.TableMeterBand, fmt.Sprint(rate))
	origin := fmt.Sprintf("audit log, %d lines per second", rate)
	ids := map[string]string{nb.KeyOwner: r.names.Owner, nb.KeyID: fmt.Sprintf("meter/%d", rate), nb.KeyTitle: origin}
	rows := []*nb.Row{{
		Table: nb.TableMeterBand, UUID: band, Name: ids[nb.KeyID], Origin: origin,
		Fields: backends.Fields{"action": "drop", "rate": int(rate), "burst_size": defaultBurst, "external_ids": ids},
	}, {
		Table: nb.TableMeter, UUID: r.names.UUID(nb.TableMeter, fmt.Sprint(rate)), Name: name, Origin: origin,
		Fields: backends.Fields{"name": name, "unit": "pktps", "fair": true, "external_ids": ids},
		Sets:   map[string][]string{"bands": {band}},
	}}
	for _, m := range rows {
		nb.Restrict(r.schema, m.Table, m.Fields)
	}
	return rows
}

func (r *renderer) setIDs(id intent.SetID) map[string]string { return r.titledIDs(id, r.title(id)) }

func (r *renderer) titledIDs(id intent.SetID, title string) map[string]string {
	ids := map[string]string{nb.KeyOwner: r.names.Owner, nb.KeyID: string(id)}
	if title != "" {
		ids[nb.KeyTitle] = title
	}
	return ids
}

func (r *renderer) title(id intent.SetID) string {
	if set := r.want.Set(id); set != nil {
		return set.Title
	}
	return ""
}
