package daemon

import (
	"errors"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/webui"
)

// cnfTargets is what the names of all targets that are CNFs begin with.
const cnfTargets = "openwrt/"

// Loop is the status of the loop of a CNF's target. It is nil, with the reason if there is any, while there is none.
func (m *cnfs) Loop(id intent.CNFID) (*reconcile.Status, error) {
	m.mu.Lock()
	p := m.known[id]
	running := p != nil && p.running
	m.mu.Unlock()
	if !running {
		return nil, nil //nolint:nilnil // There is none, for no reason of its own.
	}
	p.cnfLoop.mu.Lock()
	defer p.cnfLoop.mu.Unlock()
	if p.cnfLoop.loop == nil {
		return nil, p.cnfLoop.trouble
	}
	s := p.cnfLoop.loop.Status()
	return &s, nil
}

// cnfs tells how the CNFs of the newest snapshot stand, by ID.
func (u *ui) cnfs() []webui.Target {
	s := u.daemon.pipeline.Latest()
	if s == nil || u.daemon.sdwan == nil {
		return nil
	}
	var out []webui.Target
	for g := range s.CNFs() {
		out = append(out, u.cnf(g))
	}
	return out
}

func (u *ui) cnf(g *intent.CNF) webui.Target {
	loop, err := u.daemon.sdwan.cnfs.Loop(g.ID)
	if loop == nil {
		loop = &reconcile.Status{Err: err}
	}
	out := u.target(query.CNFTarget(g), loop)
	out.CNF = &webui.CNF{Scope: g.Scope.String(), Group: g.Group, Node: g.Node}
	if g.Addr.IsValid() {
		out.CNF.Address = g.Addr.String()
	}
	if why := whyNotWritten(g); why != nil {
		out.Health, out.Error = webui.NotReady, why.Error()
	}
	return out
}

// whyNotWritten says why nothing is written to a CNF now; nil when something may be.
func whyNotWritten(g *intent.CNF) error {
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
