package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve"
)

// httpState is the state of the daemon for health and debugging.
type httpState struct{ *Daemon }

// Kept lists what is kept now.
func (s httpState) Kept() retention.Kept { return s.kept() }

// Rounds returns the last rounds of the databases and controllers.
func (s httpState) Rounds() map[string][]reconcile.Round {
	out := map[string][]reconcile.Round{}
	for _, t := range s.targets {
		out[t.Name] = t.loop.Rounds()
	}
	return out
}

// Approve removes what is kept now, if digest is its digest.
func (s httpState) Approve(digest, by string) (retention.Kept, error) { return s.approve(digest, by) }

// Readiness lists what is missing: nothing once every source has synced and every target was in sync once, or another
// instance writes. Kinds that are left unchanged because objects cannot be read are reported as well, but do not count as missing:
// restarting netloom would not help.
func (s httpState) Readiness(names bool) (missing, lines []string) {
	problems, old := s.pipeline.Problems(), []string(nil)
	if s.pipeline.Latest() == nil {
		missing = append(missing, "the source has not synced")
		for _, problem := range problems {
			missing = append(missing, problem.Error())
		}
	} else {
		old = unreadable(problems)
	}
	lines, lacking := s.leadership()
	missing = slices.Concat(missing, lacking, s.webhook.unready())
	return missing, slices.Concat(lines, s.late(), s.disturbed(), s.skipped(), s.unconfirmed(), s.others.Degraded(), unchanged(s.pipeline.Unavailable()), s.kept().Degraded(), old,
		s.opts.SDWAN.Refused.Degraded(), s.webhook.degraded(), s.policies.Degraded(), s.ready.Degraded(), s.unprotected(names), s.confirmed())
}

// devicePlansWait is how long the plans of all CNFs may take.
const devicePlansWait = time.Minute

// Plan makes plans over separate connections: for the named target, or for all if name is "". The error of the only
// target is the error of the whole.
func (s httpState) Plan(ctx context.Context, want *intent.Snapshot, name string) (*serve.Plans, error) {
	out := &serve.Plans{Targets: []serve.TargetPlan{}}
	var last error
	add := func(target string, planned offline.Planned, err error) {
		p := serve.TargetPlan{Target: target, Plan: planned.Plan, Coverage: planned.Coverage}
		if last = err; err != nil {
			p.Plan, p.Error = nil, err.Error()
		}
		out.Targets = append(out.Targets, p)
	}
	for _, t := range s.targets {
		if name == "" || name == t.Name {
			planned, err := offline.DryRun(ctx, s.opts.Target, want)
			add(t.Name, planned, err)
		}
	}
	if s.sdwan != nil {
		ctx, cancel := context.WithTimeout(ctx, devicePlansWait)
		defer cancel()
		for g := range want.CNFs() {
			if target := g.Target(); name == "" || name == target {
				plan, err := s.sdwan.Plan(ctx, g)
				add(target, offline.Planned{Plan: plan}, err)
			}
		}
	}
	switch {
	case len(out.Targets) == 0 && name != "":
		return nil, fmt.Errorf("there is no target %s", name)
	case len(out.Targets) == 1 && last != nil:
		return nil, last
	}
	return out, nil
}

// Handler serves health, metrics and debugging.
func (d *Daemon) Handler() http.Handler { return d.handler().All() }

func (d *Daemon) handler() *serve.Handler {
	return serve.NewHandler(httpState{d}, d.metrics.Handler(slices.Concat(d.webhook.gatherers(), d.opts.Gatherers)...), d.opts.Serving.Kubernetes, d.opts.Pprof)
}

// serve answers requests until ctx ends: health and metrics, and debugging if a Kubernetes API authorizes its readers.
func (d *Daemon) serve(ctx context.Context, handler *serve.Handler) error {
	listener, err := d.door.Listen(ctx, "serve", d.opts.Listen)
	if err != nil {
		return err
	}
	d.log.WithFields(logrus.Fields{
		"address": listener.Addr().String(), "tls": d.opts.Serving.TLS, "authentication": d.opts.Serving.Kubernetes,
	}).Info("serving health and metrics")
	answers := handler.Public()
	if d.door.Guarded() {
		answers = handler.All()
	}
	if err := d.door.Serve(ctx, answers, listener, false); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// serveDebug answers debugging requests until ctx ends: on a loopback address, those of this machine and of forwarded
// ports.
func (d *Daemon) serveDebug(ctx context.Context, handler *serve.Handler) error {
	listener, err := d.door.Listen(ctx, "serve debugging", d.opts.DebugListen)
	if err != nil {
		return err
	}
	d.log.WithField("address", listener.Addr().String()).Info("serving debugging")
	if err := d.door.Of(listener).Serve(ctx, handler.All(), listener, false); err != nil {
		return fmt.Errorf("serve debugging: %w", err)
	}
	return nil
}
