package openwrt

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// policyRule is a rule of the firewall that enforces policies.
type policyRule struct {
	rule   openwrt.FirewallRule // its Name is one that namer.object made for openwrt.FirewallRules
	intent string               // the ID of the policy to name when the device refuses the rule; of any when it is for several
	origin string               // the source objects, for people
}

// policyRules are the rules that enforce policies between zones, which are all that the device has, by name and in order:
// our own and those made by hand. Where an error would let something pass that a policy denies, it denies and says so in a
// skip.
func policyRules(*intent.Snapshot, []*intent.Policy, []string, namer) ([]policyRule, []backends.Skip) {
	return nil, nil
}
