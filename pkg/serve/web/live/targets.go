package live

import (
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve/web"
)

// Targets lists the state of each target.
func (p *Page) Targets() []web.Target {
	all := p.state.Targets()
	out := make([]web.Target, len(all))
	for i := range all {
		out[i] = p.target(&all[i])
	}
	return out
}

func (p *Page) target(t *Target) web.Target {
	s := &t.Status
	out := web.Target{
		Name: t.Name, Health: healthOf(s), Revision: s.Revision, Wanted: s.Wanted, Owned: s.Owned, Up: t.Up,
		LastConverged: s.LastConverged, NextRetry: s.NextRetry,
		Writes: s.Applies, Failures: s.Failures, Drifts: s.Drifts,
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	for _, skip := range s.Skips {
		out.Skips = append(out.Skips, web.Skip{Intent: skip.Intent, Reason: skip.Reason})
	}
	if c := t.Coverage; c != nil {
		out.Coverage = &web.Coverage{Selected: c.Selected, Enforced: c.Enforced(), Kept: c.Kept + c.Held, Faults: c.Faults()}
	}
	if of := t.CNF; of != nil {
		out.CNF = &web.CNF{Scope: of.Scope.String(), Group: of.Group, Node: of.Node}
		if of.Addr.IsValid() {
			out.CNF.Address = of.Addr.String()
		}
	}
	if t.NotReady != nil {
		out.Health, out.Error = web.NotReady, t.NotReady.Error()
	}
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	n := p.notes.target(t.Name)
	out.LastPlan, out.LastWrite, out.LastError = n.plan, n.write, n.lastError
	out.Latency = web.MillisOf(n.latency)
	return out
}

// Coverage reports for each target that looks pods up whether it finds one.
func (p *Page) Coverage(namespace, name string) []web.PodCoverage {
	var out []web.PodCoverage
	all := p.state.Targets()
	for i := range all {
		t := &all[i]
		if t.CNF != nil {
			continue
		}
		one := web.PodCoverage{Target: t.Name, Known: t.Coverage != nil}
		if one.Known {
			gap, missing := t.Coverage.Missing.Get(object.Key{Cluster: p.opts.Cluster, Namespace: namespace, Name: name})
			one.Found, one.Lacks = !missing, gap.Lacks
		}
		out = append(out, one)
	}
	return out
}

// healthOf returns a status in one word.
func healthOf(s *reconcile.Status) web.Health {
	switch {
	case s.Err != nil:
		return web.OutOfSync
	case s.Converged:
		return web.InSync
	default:
		return web.Waiting
	}
}
