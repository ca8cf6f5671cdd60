package firewall

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
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
//     are made to match the bits too: see Guarded.
//
// Packets of a known connection do not reach the rules of zones, so replies pass.

// Rules returns the rules that enforce policies, by name, in order. Zones are all zones of the device: our own and manually created
// ones. If an error would let something pass that a policy denies, it is denied and reported as a skip. There are fewer rules if Zone
// is among the zones.
func Rules(
	s *intent.Snapshot, policies []*intent.Policy, zones []string, names section.Namer,
) ([]Rule, []backends.Skip) {
	if len(policies) == 0 {
		return nil, nil
	}
	w := newWriter(names, markBitsIn(markMask), zones)
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

// Sets returns the sets that policies depend on.
func Sets(enforced []*intent.Policy) map[intent.SetID]bool {
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
