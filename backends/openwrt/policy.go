package openwrt

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Policies on CNFs. The order of the device's rules cannot be chosen: writing one again moves it to the end. So no rule
// here depends on the place of another:
//
//   - Rules that mark only set bits. They are in the table mangle, which a packet from zone to zone passes after it was
//     routed and its destination translated, and before any filter. One bit for each direction means that a policy
//     isolates the packet's subject, another that some rule allows the packet.
//   - Rules of the filter drop packets to or from an isolated address that lack the bit that allows them. They match the
//     address again: while the service reloads, the filter is there a moment before the marks.
//   - What a rule denies although others allow it is dropped, and has a bit of its own for the next point.
//   - Rules that a person wrote to accept packets would be evaluated before those that happen to come after them. They
//     are made to match the bits too: see guarded.
//
// Packets of a known connection do not reach the rules of zones, so replies pass.

// policyMask holds the bits for policies. It does not overlap with the bits of mwan3 (0x3F00) and the usual marks of ipsec.
const policyMask uint32 = 0x1F000000

// maxAllowing is how many allow rules of policies one device may have. A device takes about 50 ms to write one.
const maxAllowing = 2000

// policyRule is a rule of the firewall that enforces policies.
type policyRule struct {
	rule   openwrt.FirewallRule // its Name is made by namer.object for openwrt.FirewallRules
	intent string               // the ID of the policy to name if the device rejects the rule; any if it is for several
	origin string               // the source objects, for display
	denies bool                 // without it, something that a policy denies may pass
}

// policyRules returns the rules that enforce policies, by name, in order. Zones are all zones of the device: our own and manually created
// ones. If an error would let something pass that a policy denies, it is denied and reported as a skip. There are fewer rules if policyZone
// is among the zones.
func policyRules(
	s *intent.Snapshot, policies []*intent.Policy, zones []string, names namer,
) ([]policyRule, []backends.Skip) {
	if len(policies) == 0 {
		return nil, nil
	}
	w := newPolicyWriter(names, policyBitsIn(policyMask), zones)
	if len(w.crossed) == 0 {
		for _, p := range policies {
			w.skip(p, "the CNF has no zone, so only its defaults apply")
		}
		return w.done()
	}
	var allowances []*allowance
	for _, d := range intent.Directions() {
		isolated := isolatedAddrs(s, policies, d)
		w.isolate(d, isolated)
		for _, p := range policies {
			if p.Direction == d {
				allowances = append(allowances, w.allowances(s, p, isolated)...)
			}
		}
	}
	for _, a := range w.affordable(allowances) {
		if a.denies {
			w.deny(a)
		} else {
			w.allow(a)
		}
	}
	return w.done()
}

// policyZone returns a zone without interfaces. A rule that marks and names it applies to packets between any two
// interfaces, so one rule replaces one for every two zones. It must be created before the rules, and deleted after
// them.
func policyZone(names namer) openwrt.Zone {
	return openwrt.Zone{Name: names.object(openwrt.Zones, "policies", ""), Input: "REJECT", Forward: "REJECT", Output: "REJECT"}
}

// guarded returns a rule that a person wants. If it accepts packets between zones, it is made to accept only what
// policies allow, because it may come before the rules of policies. It is for devices that have such rules.
func guarded(r openwrt.FirewallRule) openwrt.FirewallRule {
	if r.Target == "ACCEPT" && r.Src != "" && r.Dest != "" {
		r.Extra = strings.TrimSpace(r.Extra + " " + policyBitsIn(policyMask).guard())
	}
	return r
}

// policyBits are the bits of a packet's mark, by direction where it matters.
type policyBits struct {
	isolated, allowed [2]uint32
	denied            uint32
}

// policyBitsIn takes the five lowest bits of a mask, which must have at least five.
func policyBitsIn(mask uint32) policyBits {
	next := func() uint32 {
		bit := uint32(1) << bits.TrailingZeros32(mask)
		mask &^= bit
		return bit
	}
	var b policyBits
	for _, d := range intent.Directions() {
		b.isolated[d], b.allowed[d] = next(), next()
	}
	b.denied = next()
	return b
}

// isolates reports whether a rule marks packets as isolated or denied.
func (b policyBits) isolates(r openwrt.FirewallRule) bool {
	closing := append(b.isolated[:], b.denied)
	return slices.ContainsFunc(closing, func(bit uint32) bool { return r.SetXMark == settingBit(bit) })
}

// settingBit formats a bit that is set in the mark of packets.
func settingBit(bit uint32) string { return fmt.Sprintf("%#x/%#x", bit, bit) }

// guard returns, as arguments of iptables, the condition that a packet is allowed in every direction in which it is isolated,
// and is not denied.
func (b policyBits) guard() string {
	words := []string{fmt.Sprintf("-m mark ! --mark %#x/%#x", b.denied, b.denied)}
	for _, d := range intent.Directions() {
		words = append(words, fmt.Sprintf("-m mark ! --mark %#x/%#x", b.isolated[d], b.isolated[d]|b.allowed[d]))
	}
	return strings.Join(words, " ")
}

// policyWriter collects rules. Equal ones are merged.
type policyWriter struct {
	names   namer
	bits    policyBits
	marked  []zonePair // packets between these are marked
	crossed []zonePair // packets between these are dropped
	rules   map[string]*policyRule
	origins map[string]map[string]bool // by rule
	skips   []backends.Skip
}

// zonePair is where a packet comes from and where it goes.
type zonePair struct{ from, to string }

func newPolicyWriter(names namer, b policyBits, zones []string) *policyWriter {
	w := &policyWriter{names: names, bits: b, rules: make(map[string]*policyRule), origins: make(map[string]map[string]bool)}
	every := policyZone(names).Name
	zones = slices.Compact(slices.Sorted(slices.Values(zones)))
	for _, from := range zones {
		for _, to := range zones {
			if from != every && to != every {
				w.crossed = append(w.crossed, zonePair{from, to})
			}
		}
	}
	w.marked = w.crossed
	if slices.Contains(zones, every) {
		w.marked = []zonePair{{every, every}}
	}
	return w
}

// add adds a rule that is for some policies.
func (w *policyWriter) add(r openwrt.FirewallRule, readable string, policies ...*intent.Policy) {
	content := openwrt.ObjectOf(r)
	r.Name = w.names.object(openwrt.FirewallRules, fmt.Sprintf("policies %v", content), readable)
	known := w.rules[r.Name]
	if known == nil {
		known = &policyRule{rule: r, intent: string(policies[0].ID), denies: r.Target == "DROP" || w.bits.isolates(r)}
		w.rules[r.Name], w.origins[r.Name] = known, make(map[string]bool)
	}
	for _, p := range policies {
		known.intent = min(known.intent, string(p.ID))
		w.origins[r.Name][p.Origin.String()] = true
	}
}

func (w *policyWriter) skip(p *intent.Policy, format string, args ...any) {
	w.skips = append(w.skips, backends.Skip{Intent: string(p.ID), Reason: fmt.Sprintf(format, args...)})
}

// done lists the rules by name.
func (w *policyWriter) done() ([]policyRule, []backends.Skip) {
	var out []policyRule
	for _, name := range slices.Sorted(maps.Keys(w.rules)) {
		r := w.rules[name]
		r.origin = strings.Join(slices.Sorted(maps.Keys(w.origins[name])), ", ")
		out = append(out, *r)
	}
	slices.SortStableFunc(w.skips, func(a, b backends.Skip) int { return strings.Compare(a.Intent, b.Intent) })
	return out, w.skips
}
