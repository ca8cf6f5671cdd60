package builtin

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
)

// Limit is an intent that a target cannot express, whatever else it has.
type Limit struct {
	Target string // such as OVN or a CNF; the first of several that are alike
	More   int    // how many others are alike
	backends.Skip
}

// Limits lists what the targets of a snapshot cannot express: those that an explainer explains, for policies and Services, and the devices
// of its CNFs. Without an explainer, it lists those of devices. It queries nothing.
func Limits(want *intent.Snapshot, explainer backends.Explainer) []Limit {
	seen := map[backends.Skip]int{} // where each is, plus one
	var out []Limit
	add := func(target string, skips []backends.Skip) {
		for _, skip := range skips {
			if at := seen[skip]; at > 0 {
				if out[at-1].Target != target {
					out[at-1].More++
				}
				continue
			}
			out = append(out, Limit{Target: target, Skip: skip})
			seen[skip] = len(out)
		}
	}
	if explainer != nil {
		title, _ := explainer.Terms()
		add(title, explainer.Skips(want))
	}
	for g := range want.CNFs() {
		add(g.Target(), openwrt.SkipsOf(want, g, explainedOwner))
	}
	return out
}

// explainedOwner takes the place of a setting on which no limit depends.
const explainedOwner = "netloom"
