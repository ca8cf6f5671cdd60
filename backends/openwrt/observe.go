package openwrt

import (
	"context"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// held is one object that is on the device.
type held struct {
	object openwrt.Object // as the device shows it
	sent   openwrt.Object // as this process wrote it; nil when another did
	copies int            // how many objects have the name
}

// holdings is what the device holds, as far as it concerns this owner.
type holdings struct {
	objects map[key]*held   // ours, and those that intents adopt
	rules   []string        // names of the firewall's rules among them, in the device's order
	zones   []string        // names of the zones that are not ours
	notes   map[string]bool // by name
}

// observe reads back every kind. Adopted are the objects that are ours although others made them.
func observe(ctx context.Context, client *openwrt.Client, names namer, adopted func(key) bool) (*holdings, error) {
	h := &holdings{objects: map[key]*held{}, notes: map[string]bool{}}
	for _, kind := range openwrt.Kinds() {
		all, err := client.List(ctx, kind)
		if err != nil {
			return nil, reached(err)
		}
		for _, o := range all {
			h.note(key{kind, o.Name()}, o, names, adopted)
		}
	}
	slices.Sort(h.zones)
	h.zones = slices.Compact(h.zones)
	return h, nil
}

func (h *holdings) note(k key, o openwrt.Object, names namer, adopted func(key) bool) {
	switch {
	case k.kind == openwrt.Proposals && names.note(k.name):
		h.notes[k.name] = true
	case k.name != "" && (names.mine(k.kind, k.name) || adopted(k)):
		if have := h.objects[k]; have != nil {
			have.copies++
			return
		}
		h.objects[k] = &held{object: o, copies: 1}
		if k.kind == openwrt.FirewallRules {
			h.rules = append(h.rules, k.name)
		}
	case k.kind == openwrt.Zones && k.name != "":
		h.zones = append(h.zones, k.name)
	}
}

// put notes that an object was written, which puts it behind all others of its kind.
func (h *holdings) put(k key, kept, sent openwrt.Object) {
	h.objects[k] = &held{object: kept, sent: sent, copies: 1}
	if k.kind == openwrt.FirewallRules {
		h.rules = append(except(h.rules, k.name), k.name)
	}
}

// drop notes that an object is gone.
func (h *holdings) drop(k key) {
	delete(h.objects, k)
	if k.kind == openwrt.FirewallRules {
		h.rules = except(h.rules, k.name)
	}
}

func except(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(have string) bool { return have == s })
}

// readSecrets resolves what the tunnels of a scope refer to. What cannot be resolved is in the answer with its error.
func readSecrets(
	ctx context.Context, want *intent.Snapshot, of intent.Scope, resolve func(context.Context, intent.SecretRef) ([]byte, error),
) (map[intent.SecretRef]secret, error) {
	out := map[intent.SecretRef]secret{}
	for e := range want.EdgeIntentsOf(of) {
		t, ok := e.Spec.(*intent.Tunnel)
		if !ok || e.Gone {
			continue
		}
		for _, v := range []intent.SecretValue{t.Key, t.Certificate, t.PrivateKey, t.CA} {
			if _, known := out[v.From]; known || v.From == (intent.SecretRef{}) {
				continue
			}
			if resolve == nil {
				out[v.From] = secret{err: errNoSecrets}
				continue
			}
			value, err := resolve(ctx, v.From)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out[v.From] = secret{value, err}
		}
	}
	return out, nil
}

// policySets are the sets that policies depend on.
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

// renderPolicies spells the policies that the gateway enforces, between all zones that the device has or will have.
func renderPolicies(want *intent.Snapshot, enforced []*intent.Policy, edges *wishes, foreign []string, names namer) *wishes {
	out := newWishes()
	out.sets = policySets(enforced)
	zones := slices.Clone(foreign)
	for _, k := range slices.Concat(sorted(edges.objects), sorted(edges.keep)) {
		if k.kind == openwrt.Zones {
			zones = append(zones, k.name)
		}
	}
	slices.Sort(zones)
	rules, skips := policyRules(want, enforced, slices.Compact(zones), names)
	out.skips = skips
	for i := range rules {
		r := &rules[i]
		w := &wanted{key: key{openwrt.FirewallRules, r.rule.Name}, intent: r.intent, origin: r.origin, policy: true}
		w.object = openwrt.ObjectOf(r.rule)
		if out.objects[w.key] != nil || edges.objects[w.key] != nil {
			out.skips = append(out.skips, backends.Skip{Intent: r.intent, Reason: w.String() + ": two rules have one name"})
			continue
		}
		for _, zone := range []string{r.rule.Src, r.rule.Dest} {
			if k := (key{openwrt.Zones, zone}); edges.objects[k] != nil {
				w.needs = append(w.needs, k)
			}
		}
		out.objects[w.key] = w
	}
	return out
}
