package render

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/firewall"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Policies formats the policies that the CNF enforces, between all zones that the device has or will have.
func Policies(want *intent.Snapshot, enforced []*intent.Policy, resources *Desired, foreign []string, names section.Namer) *Desired {
	out := NewDesired()
	out.Sets = firewall.Sets(enforced)
	zones := slices.Clone(foreign)
	for _, k := range slices.Concat(section.Sorted(resources.Objects), section.Sorted(resources.Keep)) {
		if k.Kind == openwrt.Zones {
			zones = append(zones, k.Name)
		}
	}
	every := firewall.Zone(names)
	slices.Sort(zones)
	rules, skips := firewall.Rules(want, enforced, append(slices.Compact(zones), every.Name), names)
	out.Skips = skips
	if len(rules) > 0 {
		w := &Wanted{Key: section.Key{Kind: openwrt.Zones, Name: every.Name}, Intent: rules[0].Intent, Origin: rules[0].Origin, Denies: true}
		w.Object = openwrt.ObjectOf(every)
		out.Objects[w.Key] = w
	}
	for i := range rules {
		r := &rules[i]
		w := &Wanted{Key: section.Key{Kind: openwrt.FirewallRules, Name: r.Firewall.Name}, Intent: r.Intent, Origin: r.Origin, Denies: r.Denies}
		w.Object = openwrt.ObjectOf(r.Firewall)
		if out.Objects[w.Key] != nil || resources.Objects[w.Key] != nil {
			out.Skips = append(out.Skips, backends.Skip{Intent: r.Intent, Reason: w.String() + ": two rules have the same name"})
			continue
		}
		for _, zone := range []string{r.Firewall.Src, r.Firewall.Dest} {
			if k := (section.Key{Kind: openwrt.Zones, Name: zone}); resources.Objects[k] != nil || out.Objects[k] != nil {
				w.Needs = append(w.Needs, k)
			}
		}
		out.Objects[w.Key] = w
	}
	return out
}
