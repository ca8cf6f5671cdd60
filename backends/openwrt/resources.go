package openwrt

import (
	"context"

	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// guards reports whether firewall rules that accept packets have to match the bits of policies: there are policies to
// enforce, or rules are kept that may enforce some.
func (b *Backend) guards(m *model) bool {
	if len(m.enforced) > 0 {
		return true
	}
	for o := range b.keep {
		if o.Kind == openwrt.FirewallRules.String() {
			return true
		}
	}
	return false
}

// renderResources renders the device intents; last is the result of the previous rendering, see render.Intents.
func (b *Backend) renderResources(ctx context.Context, m *model, want *intent.Snapshot, g *intent.CNF, last *render.Desired) error {
	secrets, err := readSecrets(ctx, want, g.Scope, b.opts.Secret)
	if err != nil {
		return err
	}
	m.scope, m.run, m.networks = g.Scope, g.Run, g.Networks
	m.rotated = b.rotated(secrets)
	m.guard = b.guards(m)
	m.resources = render.Intents(want, g, b.names, secrets, m.guard, last)
	return nil
}

// enforced lists the policies that the CNF enforces.
func (b *Backend) enforced(want *intent.Snapshot, g *intent.CNF) []*intent.Policy {
	var out []*intent.Policy
	for p := range want.Policies() {
		if b.enforces(p, g) {
			out = append(out, p)
		}
	}
	return out
}

func (b *Backend) enforces(p *intent.Policy, g *intent.CNF) bool {
	if b.opts.Enforces != nil {
		return b.opts.Enforces(p)
	}
	return p.CNFs == g.Scope && p.CNFs != intent.Scope{}
}
