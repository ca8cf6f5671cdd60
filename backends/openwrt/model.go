package openwrt

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// model is what is on the device, and what it was made from.
type model struct {
	snapshot  *intent.Snapshot
	scope     intent.Scope
	run       string
	networks  map[string]string
	resources *render.Desired
	policies  *render.Desired
	enforced  []*intent.Policy
	have      *device.Inventory
	skips     []backends.Skip
	rotated   bool // a Secret has changed since it was last read
	guard     bool // resources were rendered for a device with rules of policies
}

// withoutZones reports that the zones of the device are not known, if policies need them. The rules of policies that are there
// then stay.
func (m *model) withoutZones() {
	if len(m.enforced) == 0 || !m.have.Unlisted(openwrt.Zones) {
		return
	}
	m.resources.Retain[openwrt.FirewallRules] = true
	for _, p := range m.enforced {
		m.policies.Skips = append(m.policies.Skips, backends.Skip{
			Intent: string(p.ID), Reason: "the zones of the device cannot be listed, so it does not apply to manually created ones",
		})
	}
}
