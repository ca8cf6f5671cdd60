package daemon

import (
	"errors"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/webui"
)

// gatewayTargets is what the names of all targets that are gateways begin with.
const gatewayTargets = "openwrt/"

// Loop is the status of the loop of a gateway's target. It is nil, with the reason if there is any, while there is none.
func (m *gateways) Loop(id intent.GatewayID) (*reconcile.Status, error) {
	m.mu.Lock()
	p := m.known[id]
	running := p != nil && p.running
	m.mu.Unlock()
	if !running {
		return nil, nil //nolint:nilnil // There is none, for no reason of its own.
	}
	p.edge.mu.Lock()
	defer p.edge.mu.Unlock()
	if p.edge.loop == nil {
		return nil, p.edge.trouble
	}
	s := p.edge.loop.Status()
	return &s, nil
}

// gateways tells how the gateways of the newest snapshot stand, by ID.
func (u *ui) gateways() []webui.Target {
	s := u.daemon.pipeline.Latest()
	if s == nil || u.daemon.sdwan == nil {
		return nil
	}
	var out []webui.Target
	for g := range s.Gateways() {
		out = append(out, u.gateway(g))
	}
	return out
}

func (u *ui) gateway(g *intent.Gateway) webui.Target {
	loop, err := u.daemon.sdwan.gateways.Loop(g.ID)
	if loop == nil {
		loop = &reconcile.Status{Err: err}
	}
	out := u.target(query.GatewayTarget(g), loop)
	out.Gateway = &webui.Gateway{Scope: g.Scope.String(), Group: g.Group, Node: g.Node}
	if g.Addr.IsValid() {
		out.Gateway.Address = g.Addr.String()
	}
	if why := whyNotWritten(g); why != nil {
		out.Health, out.Error = webui.NotReady, why.Error()
	}
	return out
}

// whyNotWritten says why nothing is written to a gateway now; nil when something may be.
func whyNotWritten(g *intent.Gateway) error {
	switch {
	case g.Conflict != "":
		return errors.New(g.Conflict)
	case g.Leaving:
		return errors.New("the pod is going away")
	case !g.Ready:
		return errors.New("the pod is not ready")
	case !g.Addr.IsValid():
		return errors.New("the pod has no address")
	default:
		return nil
	}
}
