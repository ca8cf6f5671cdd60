package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// edgeMetrics are those of gateways at the edge of the cluster.
type edgeMetrics struct {
	gateways *prometheus.GaugeVec
	reports  *prometheus.CounterVec
	tunnels  *prometheus.GaugeVec
	complete *prometheus.GaugeVec
	writes   *prometheus.CounterVec
	lookups  *prometheus.CounterVec
}

// States of gateways.
const (
	GatewayManaged  = "managed"   // has a target
	GatewayNotReady = "not ready" // is waited for
	GatewayConflict = "conflict"  // may not be written to
	GatewayLeaving  = "leaving"   // goes away
)

func (m *Metrics) makeEdges() {
	m.edges = edgeMetrics{
		gateways: m.gaugeOf("netloom_gateways", "Gateways at the edge of the cluster, by state.", "state"),
		reports: m.counter("netloom_gateway_reports_total", "Reports asked of gateways: given, or failed.",
			"target", "result"),
		tunnels: m.gaugeOf("netloom_tunnels", "Tunnels that a gateway reports, by state: up or connecting.", "target", "state"),
		complete: m.gaugeOf("netloom_tunnels_complete", "Whether a gateway says that all of its tunnels are up: 1 or 0.",
			"target"),
		writes: m.counter("netloom_status_writes_total",
			"Writes of status and finalizers, by what came of them: ok, conflict, forbidden or failed.", "result"),
		lookups: m.counter("netloom_host_lookups_total", "DNS names looked up for SD-WAN objects: found, absent or failed.",
			"result"),
	}
}

func (m *Metrics) gaugeOf(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

// Gateways counts gateways by state.
func (m *Metrics) Gateways(states map[string]int) {
	for _, s := range []string{GatewayManaged, GatewayNotReady, GatewayConflict, GatewayLeaving} {
		m.edges.gateways.WithLabelValues(s).Set(float64(states[s]))
	}
}

// Reported counts a report of a gateway, given or not.
func (m *Metrics) Reported(target string, ok bool) {
	result := "ok"
	if !ok {
		result = "failed"
	}
	m.edges.reports.WithLabelValues(target, result).Inc()
}

// Tunnels says how the tunnels of a gateway stand.
func (m *Metrics) Tunnels(target string, up, connecting int, complete bool) {
	m.edges.tunnels.WithLabelValues(target, "up").Set(float64(up))
	m.edges.tunnels.WithLabelValues(target, "connecting").Set(float64(connecting))
	n := 0.0
	if complete {
		n = 1
	}
	m.edges.complete.WithLabelValues(target).Set(n)
}

// NoTunnels forgets the tunnels of a gateway that does not report.
func (m *Metrics) NoTunnels(target string) {
	of := prometheus.Labels{"target": target}
	m.edges.tunnels.DeletePartialMatch(of)
	m.edges.complete.DeletePartialMatch(of)
}

// Wrote counts a write of status or finalizers by its result.
func (m *Metrics) Wrote(result string) { m.edges.writes.WithLabelValues(result).Inc() }

// LookedUp counts a DNS name by what came of looking it up.
func (m *Metrics) LookedUp(result string) { m.edges.lookups.WithLabelValues(result).Inc() }

// Forget drops everything that was counted of a target. It has to be told nothing of the target meanwhile.
func (m *Metrics) Forget(target string) {
	of := prometheus.Labels{"target": target}
	for _, h := range []*prometheus.HistogramVec{m.plan, m.apply, m.latency} {
		h.DeletePartialMatch(of)
	}
	for _, c := range []*prometheus.CounterVec{m.ops, m.failures, m.drift, m.edges.reports} {
		c.DeletePartialMatch(of)
	}
	for _, g := range append(m.coverage.all(), m.owned, m.skips, m.applied, m.edges.tunnels, m.edges.complete) {
		g.DeletePartialMatch(of)
	}
	m.unwatched(target)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reached, target)
}
