package openwrt

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// policySets returns the sets that policies depend on.
func policySets(enforced []*intent.Policy) map[intent.SetID]bool {
	out := map[intent.SetID]bool{}
	for _, p := range enforced {
		out[p.Subject], out[intent.IsolatedSet(p.Direction)] = true, true
		for i := range p.Rules {
			out[p.Rules[i].Subject], out[p.Rules[i].Peer.Set] = true, true
		}
	}
	delete(out, "")
	return out
}

// renderPolicies formats the policies that the CNF enforces, between all zones that the device has or will have.
func renderPolicies(want *intent.Snapshot, enforced []*intent.Policy, resources *desired, foreign []string, names namer) *desired {
	out := newDesired()
	out.sets = policySets(enforced)
	zones := slices.Clone(foreign)
	for _, k := range slices.Concat(sorted(resources.objects), sorted(resources.keep)) {
		if k.kind == openwrt.Zones {
			zones = append(zones, k.name)
		}
	}
	every := policyZone(names)
	slices.Sort(zones)
	rules, skips := policyRules(want, enforced, append(slices.Compact(zones), every.Name), names)
	out.skips = skips
	if len(rules) > 0 {
		w := &wanted{key: key{openwrt.Zones, every.Name}, intent: rules[0].intent, origin: rules[0].origin, denies: true}
		w.object = openwrt.ObjectOf(every)
		out.objects[w.key] = w
	}
	for i := range rules {
		r := &rules[i]
		w := &wanted{key: key{openwrt.FirewallRules, r.rule.Name}, intent: r.intent, origin: r.origin, denies: r.denies}
		w.object = openwrt.ObjectOf(r.rule)
		if out.objects[w.key] != nil || resources.objects[w.key] != nil {
			out.skips = append(out.skips, backends.Skip{Intent: r.intent, Reason: w.String() + ": two rules have the same name"})
			continue
		}
		for _, zone := range []string{r.rule.Src, r.rule.Dest} {
			if k := (key{openwrt.Zones, zone}); resources.objects[k] != nil || out.objects[k] != nil {
				w.needs = append(w.needs, k)
			}
		}
		out.objects[w.key] = w
	}
	return out
}

// isPolicyZone reports whether a zone that is not ours is the policyZone of some owner, which no packet is ever in.
func isPolicyZone(o openwrt.Object) bool {
	name := o.Name()
	made := len(name) == 1+ownerDigits+zoneDigits && name[0] == 'n' && areDigits(name)
	return made && len(openwrt.Diff(openwrt.Zones, o, openwrt.ObjectOf(openwrt.Zone{
		Name: name, Input: "REJECT", Forward: "REJECT", Output: "REJECT",
	}))) == 0
}
