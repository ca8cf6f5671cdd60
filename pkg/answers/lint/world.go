package lint

import (
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// The share of all addresses of a family from which on a rule is open to the world. Of IPv6, 2000::/3 is all that is in use.
// Each is a little less than half of what is in use, so that excepts for some addresses change nothing.
const (
	worldIPv4 = 0.49
	worldIPv6 = 0.06
)

// World returns how a peer includes the world: from anywhere at all, or by prefixes with most addresses of a family.
func World(s *intent.Snapshot, p intent.Peer) (anywhere, most bool) {
	switch p.Kind {
	case intent.PeerAny:
		return true, true
	case intent.PeerSet:
		set := s.Set(p.Set)
		if set == nil {
			return false, false
		}
		return false, IsMost(set.Prefixes)
	case intent.PeerNone:
	}
	return false, false
}

// IsMost reports whether disjoint prefixes contain most addresses of a family.
func IsMost(prefixes []netip.Prefix) bool {
	return Share(prefixes, true) >= worldIPv4 || Share(prefixes, false) >= worldIPv6
}

// Share is the part of all addresses of a family that disjoint prefixes contain.
func Share(prefixes []netip.Prefix, v4 bool) float64 {
	var sum float64
	for _, p := range prefixes {
		if p.Addr().Is4() == v4 {
			sum += math.Ldexp(1, -p.Bits())
		}
	}
	return sum
}

// world finds the rules of NetworkPolicies that admit everyone, or most of the world.
func (r *run) world() {
	for _, x := range r.objects {
		if x.ref.Kind != object.KindNetworkPolicy || x.selectsNothing() {
			continue
		}
		for _, p := range x.policies {
			last := ""
			for i := range p.Rules {
				rule := &p.Rules[i]
				anywhere, most := World(r.Snapshot, rule.Peer)
				if p.Direction != intent.Ingress || rule.Action != intent.Allow || rule.Path == last || !most {
					continue
				}
				last = rule.Path // a rule of the object is several if a named port has several numbers
				to := fmt.Sprintf("to %s of %s", strings.Join(rule.Ports.Strings(), ", "), r.out.count(r.Snapshot.Set(p.Subject).Subjects()))
				if anywhere {
					r.add(newFinding(AllowFromAnywhere, x.ref, rule.Path, "admits every pod and every address "+to))
				} else {
					r.add(newFinding(OpenToWorld, x.ref, rule.Path+".from", "admits most addresses outside the cluster "+to))
				}
			}
		}
	}
}
