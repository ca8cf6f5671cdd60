package offline

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// shownRules is how many rules a hint lists.
const shownRules = 3

// dependsOnMadeUp returns a hint about the rules whose blocks match pods only by their made-up addresses: the real ones may be
// elsewhere. It returns "" if there are none. A block that matches every address of a family, with or without exceptions for private
// networks, is not reported.
func dependsOnMadeUp(s *world.State, madeUp []netip.Addr) string {
	if len(madeUp) == 0 {
		return ""
	}
	slices.SortFunc(madeUp, netip.Addr.Compare)
	var rules []string
	for p := range s.Snapshot.Policies() {
		if p.Tier == intent.TierSystem {
			continue
		}
		for i := range p.Rules {
			set := s.Snapshot.Set(p.Rules[i].Peer.Set)
			if p.Rules[i].Peer.Kind == intent.PeerSet && set != nil && slices.ContainsFunc(set.Prefixes, func(block netip.Prefix) bool {
				return block.Bits() > 0 && holdsOneOf(madeUp, block)
			}) {
				rules = append(rules, p.Origin.Ref().Path()+" "+p.Rules[i].Path)
			}
		}
	}
	if len(rules) == 0 {
		return ""
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	text := strings.Join(rules[:min(len(rules), shownRules)], ", ")
	if more := len(rules) - shownRules; more > 0 {
		text += fmt.Sprintf(", … (%d more)", more)
	}
	return "an ipBlock matches pods only by made-up addresses; their real ones may be elsewhere: " + text
}

// holdsOneOf reports whether a block has one of some sorted addresses.
func holdsOneOf(sorted []netip.Addr, block netip.Prefix) bool {
	i, _ := slices.BinarySearchFunc(sorted, block.Masked().Addr(), func(a, b netip.Addr) int { return cmp.Compare(a.Compare(b), 0) })
	return i < len(sorted) && block.Contains(sorted[i])
}
