package offline

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// shownRules is how many rules a hint lists.
const shownRules = 3

// dependsOnMadeUp returns a hint about the rules whose blocks may hold pods, and the addresses of pods are made up: see world.BlockDepends.
// It returns "" if there are none.
func dependsOnMadeUp(s *world.State, madeUp []netip.Addr) string {
	is4 := slices.ContainsFunc(madeUp, netip.Addr.Is4)
	is6 := slices.ContainsFunc(madeUp, netip.Addr.Is6)
	var rules []string
	for p := range s.Snapshot.Policies() {
		if p.Tier == intent.TierSystem || !is4 && !is6 {
			continue
		}
		for i := range p.Rules {
			if p.Rules[i].Peer.Kind != intent.PeerSet {
				continue
			}
			set := s.Snapshot.Set(p.Rules[i].Peer.Set)
			if is4 && world.BlockDepends(set, true) || is6 && world.BlockDepends(set, false) {
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
	return "the addresses of pods are made up, so whether these blocks hold any is not known: " + text
}
