package daemon

import (
	"github.com/netloom/netloom/pkg/controller/sdwan"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/webui"
)

// cnfTargets is what the names of all targets that are CNFs begin with.
const cnfTargets = "openwrt/"

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
	loop, err := u.daemon.sdwan.Loop(g.ID)
	if loop == nil {
		loop = &reconcile.Status{Err: err}
	}
	out := u.target(query.CNFTarget(g), loop)
	out.CNF = &webui.CNF{Scope: g.Scope.String(), Group: g.Group, Node: g.Node}
	if g.Addr.IsValid() {
		out.CNF.Address = g.Addr.String()
	}
	if why := sdwan.WhyNotWritten(g); why != nil {
		out.Health, out.Error = webui.NotReady, why.Error()
	}
	return out
}
