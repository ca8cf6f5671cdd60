package metrics

import "github.com/prometheus/client_golang/prometheus"

// readyPods counts, at each scrape, the pods with the readiness gate by state.
type readyPods struct {
	desc  *prometheus.Desc
	count func() map[string]int
}

// Readiness registers a count of the pods with the readiness gate. It may be called once; count is called at each scrape.
func (m *Metrics) Readiness(count func() map[string]int) {
	m.registry.MustRegister(&readyPods{
		desc: prometheus.NewDesc("netloom_readiness_pods",
			"Pods with the readiness gate, by state: ready, waiting, or unprotected although the condition is True (these are counted as ready too).",
			[]string{"state"}, nil),
		count: count,
	})
	m.readiness = m.counter("netloom_readiness_writes_total", "Writes of the condition of a readiness gate by result.", "result")
}

// Describe implements prometheus.Collector.
func (r *readyPods) Describe(c chan<- *prometheus.Desc) { c <- r.desc }

// Collect implements prometheus.Collector.
func (r *readyPods) Collect(c chan<- prometheus.Metric) {
	for state, n := range r.count() {
		c <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, float64(n), state)
	}
}

// WrotePod counts a write of the condition of a readiness gate. Readiness has to be called before.
func (m *Metrics) WrotePod(result string) { m.readiness.WithLabelValues(result).Inc() }
