package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// cnfMetrics are the metrics of CNFs.
type cnfMetrics struct {
	cnfs     *prometheus.GaugeVec
	reports  *prometheus.CounterVec
	tunnels  *prometheus.GaugeVec
	complete *prometheus.GaugeVec
	writes   *prometheus.CounterVec
	lookups  *prometheus.CounterVec
}

// States of CNFs.
const (
	CNFManaged  = "managed"   // has a target
	CNFNotReady = "not ready" // its pod is not ready
	CNFConflict = "conflict"  // two workloads have the same purpose
	CNFLeaving  = "leaving"   // its pod is terminating
)

func (m *Metrics) makeCNFs() {
	m.cnfs = cnfMetrics{
		cnfs: m.gaugeOf("netloom_cnfs", "CNFs by state.", "state"),
		reports: m.counter("netloom_cnf_reports_total", "Reports requested from CNFs by result: ok or failed.",
			"target", "result"),
		tunnels: m.gaugeOf("netloom_tunnels", "Tunnels that a CNF reports by state: up or connecting.", "target", "state"),
		complete: m.gaugeOf("netloom_tunnels_complete", "1 if a CNF reports that all of its tunnels are up, otherwise 0.",
			"target"),
		writes: m.counter("netloom_status_writes_total",
			"Writes of status and finalizers by result: ok, conflict, forbidden or failed.", "result"),
		lookups: m.counter("netloom_host_lookups_total", "DNS lookups of names in objects by result: found, absent or failed.",
			"result"),
	}
}

func (m *Metrics) gaugeOf(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

// CNFs counts CNFs by state.
func (m *Metrics) CNFs(states map[string]int) {
	for _, s := range []string{CNFManaged, CNFNotReady, CNFConflict, CNFLeaving} {
		m.cnfs.cnfs.WithLabelValues(s).Set(float64(states[s]))
	}
}

// Reported counts a report that was requested from a CNF.
func (m *Metrics) Reported(target string, ok bool) {
	result := "ok"
	if !ok {
		result = "failed"
	}
	m.cnfs.reports.WithLabelValues(target, result).Inc()
}

// Tunnels sets the state of the tunnels of a CNF.
func (m *Metrics) Tunnels(target string, up, connecting int, complete bool) {
	m.cnfs.tunnels.WithLabelValues(target, "up").Set(float64(up))
	m.cnfs.tunnels.WithLabelValues(target, "connecting").Set(float64(connecting))
	n := 0.0
	if complete {
		n = 1
	}
	m.cnfs.complete.WithLabelValues(target).Set(n)
}

// NoTunnels forgets the tunnels of a CNF that does not report.
func (m *Metrics) NoTunnels(target string) {
	of := prometheus.Labels{"target": target}
	m.cnfs.tunnels.DeletePartialMatch(of)
	m.cnfs.complete.DeletePartialMatch(of)
}

// Wrote counts a write of status or finalizers by its result.
func (m *Metrics) Wrote(result string) { m.cnfs.writes.WithLabelValues(result).Inc() }

// LookedUp counts a DNS lookup by its result.
func (m *Metrics) LookedUp(result string) { m.cnfs.lookups.WithLabelValues(result).Inc() }

// Forget deletes all metrics of a target. No other method may be called for the target at the same time.
func (m *Metrics) Forget(target string) {
	of := prometheus.Labels{"target": target}
	for _, h := range []*prometheus.HistogramVec{m.plan, m.apply, m.latency, m.stages, m.roundOps, m.roundChanges} {
		h.DeletePartialMatch(of)
	}
	for _, c := range []*prometheus.CounterVec{m.ops, m.failures, m.drift, m.readBacks, m.cnfs.reports} {
		c.DeletePartialMatch(of)
	}
	for _, g := range append(m.coverage.all(), m.owned, m.interval, m.skips, m.applied, m.cnfs.tunnels, m.cnfs.complete) {
		g.DeletePartialMatch(of)
	}
	m.unwatched(target)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reached, target)
}
