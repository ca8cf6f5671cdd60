package metrics

import (
	"strconv"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

var _ reconcile.Observer = (*Metrics)(nil)

// Target creates the metrics of a target, at zero.
func (m *Metrics) Target(target string) {
	m.inSync(target, false)
	m.contested.WithLabelValues(target).Set(0)
	m.owned.WithLabelValues(target).Set(0)
	m.drift.WithLabelValues(target).Add(0)
	for _, why := range backends.ReadBacks() {
		m.readBacks.WithLabelValues(target, string(why)).Add(0)
	}
	for _, phase := range []reconcile.Phase{reconcile.PhasePlan, reconcile.PhaseApply, reconcile.PhaseRepair} {
		m.failures.WithLabelValues(target, string(phase)).Add(0)
	}
}

// Planned times a plan.
func (m *Metrics) Planned(target string, p *backends.Plan, took time.Duration) {
	m.plan.WithLabelValues(target, strconv.FormatBool(p.Full)).Observe(took.Seconds())
	if p.Full {
		m.readBacks.WithLabelValues(target, string(p.ReadBack)).Inc()
		m.owned.WithLabelValues(target).Set(float64(p.Owned))
		m.interval.WithLabelValues(target).Set(p.Interval.Seconds())
		m.skips.WithLabelValues(target).Set(float64(len(p.Skips)))
	}
}

// Applied times a write and counts its ops.
func (m *Metrics) Applied(target string, p *backends.Plan, took time.Duration) {
	m.apply.WithLabelValues(target).Observe(took.Seconds())
	if p.Full { // a target may have refused something
		m.skips.WithLabelValues(target).Set(float64(len(p.Skips)))
	}
	for i := range p.Ops {
		m.ops.WithLabelValues(target, p.Ops[i].Verb.String(), p.Ops[i].Kind).Inc()
	}
}

// Round times the stages of a round and counts what it handled.
func (m *Metrics) Round(target string, r *reconcile.Round) {
	if r.Operations == 0 {
		return
	}
	for stage, took := range map[string]time.Duration{
		"wait": r.Waited, "plan": r.Planned, "order": r.Ordered, "send": r.Sent, "commit": r.Committed,
	} {
		m.stages.WithLabelValues(target, stage).Observe(took.Seconds())
	}
	m.roundOps.WithLabelValues(target).Observe(float64(r.Operations))
	if !r.Full {
		m.roundChanges.WithLabelValues(target).Observe(float64(r.Changes))
	}
}

// Failed counts an error. The target is out of sync until a round succeeds.
func (m *Metrics) Failed(target string, phase reconcile.Phase, _ error) {
	m.failures.WithLabelValues(target, string(phase)).Inc()
	m.inSync(target, false)
}

// Drift counts the ops that revert changes by someone else.
func (m *Metrics) Drift(target string, ops int) {
	m.drift.WithLabelValues(target).Add(float64(ops))
}

// Disturbed records that the target is not in sync because of changes by others, or that these are repaired.
func (m *Metrics) Disturbed(target string, d *reconcile.Disturbance) {
	m.disturb(target, d != nil)
	contested := 0.0
	if d != nil && d.Contested {
		contested = 1
	}
	m.contested.WithLabelValues(target).Set(contested)
}

// Blind records that the target is not in sync because changes by others cannot be seen, or that they can.
func (m *Metrics) Blind(target string, why error) {
	m.unsettle(m.standing.blind, target, why != nil)
}

// Converged times the changes that the target has reached.
func (m *Metrics) Converged(target string, rev intent.Revision, owned int) {
	m.inSync(target, true)
	m.applied.WithLabelValues(target).Set(float64(rev))
	m.owned.WithLabelValues(target).Set(float64(owned))
	for _, since := range m.reach(target, rev) {
		m.latency.WithLabelValues(target).Observe(time.Since(since).Seconds())
	}
}
