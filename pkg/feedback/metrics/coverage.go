package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/netloom/netloom/backends"
)

// coverageMetrics count the pods that policies select and those that targets protect. A target has none before its first
// plan, or if it does not report coverage.
type coverageMetrics struct {
	selected, enforced, kept *prometheus.GaugeVec
}

func (m *Metrics) makeCoverage() {
	m.coverage.selected = m.gaugeVec("netloom_selected_endpoints", "Pods with an address that policies select.")
	m.coverage.enforced = m.gaugeVec("netloom_enforced_endpoints",
		"Pods with an address that policies select and that the target can protect because they have, for example, a logical port.")
	m.coverage.kept = m.gaugeVec("netloom_kept_ports",
		"Pods and ports that are protected only because previous ports are kept; the configured ones are not found.")
}

func (c *coverageMetrics) all() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{c.selected, c.enforced, c.kept}
}

// Covered sets which of the selected endpoints a target protects.
func (m *Metrics) Covered(target string, c backends.Coverage) {
	m.coverage.selected.WithLabelValues(target).Set(float64(c.Selected))
	m.coverage.enforced.WithLabelValues(target).Set(float64(c.Enforced()))
	m.coverage.kept.WithLabelValues(target).Set(float64(c.Kept + c.Held))
}
