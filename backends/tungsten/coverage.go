package tungsten

import (
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// cover finds out which of the endpoints that policies govern have no interface, and publishes it.
func (b *Backend) cover(want *intent.Snapshot, m *model) {
	selected := map[object.Key]bool{}
	var missing []backends.Gap
	for id := range m.rendering.governed {
		set := want.Set(id)
		if set == nil || set.Members == nil {
			continue
		}
		for e := range set.Members.All() {
			if len(e.Addrs)+len(e.Shared) == 0 || selected[e.Key] {
				continue
			}
			selected[e.Key] = true
			if len(m.ports.byKey[e.Key]) == 0 {
				missing = append(missing, backends.Gap{Endpoint: e.Key, Lacks: "interface of kube-manager"})
			}
		}
	}
	b.published.Store(&backends.Coverage{Selected: len(selected), Missing: backends.Gaps{}.With(missing, nil)})
}

// noBalancers is why no load balancer is written.
const noBalancers = "netloom writes no load balancers to Tungsten Fabric: those of kube-manager serve Services"

// skips lists what the controller cannot express because of its limits, and load balancers: all, or those that changed.
func (b *Backend) skips(want *intent.Snapshot, since intent.Revision) []backends.Skip {
	var out []backends.Skip
	if changes, known := want.TouchedSince(since); known {
		for _, id := range slices.Sorted(maps.Keys(changes.LoadBalancers)) {
			if want.LoadBalancer(id) != nil {
				out = append(out, backends.Skip{Intent: string(id), Reason: noBalancers})
			}
		}
	} else {
		for lb := range want.LoadBalancers() {
			out = append(out, backends.Skip{Intent: string(lb.ID), Reason: noBalancers})
		}
	}
	for _, o := range b.lowering.Overflows() {
		out = append(out, backends.Skip{Intent: string(o.Policy), Reason: fmt.Sprintf(
			"%s: what cluster-wide policies pass needs more than %d rules; this rule denies instead", o.Path, maxRaised)})
	}
	return out
}
