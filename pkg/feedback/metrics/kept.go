package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/netloom/netloom/pkg/object"
)

// keptObjects counts, at each scrape, the objects that are missing from the source and kept in force.
type keptObjects struct {
	desc  *prometheus.Desc
	count func() map[string]int // by kind
}

// Kept registers a count of the objects that are missing from the source and kept in force. It may be called once; count is
// called at each scrape.
func (m *Metrics) Kept(count func() map[string]int) {
	m.registry.MustRegister(&keptObjects{
		desc: prometheus.NewDesc("netloom_kept_objects",
			"Objects that are missing from the source and kept in force until their removal is approved.",
			[]string{"kind"}, nil),
		count: count,
	})
}

// Describe implements prometheus.Collector.
func (k *keptObjects) Describe(c chan<- *prometheus.Desc) { c <- k.desc }

// Collect implements prometheus.Collector. There is always a sample for policies, so that alerts can refer to it.
func (k *keptObjects) Collect(c chan<- prometheus.Metric) {
	counts := map[string]int{object.KindNetworkPolicy: 0}
	for kind, n := range k.count() {
		counts[kind] = n
	}
	for kind, n := range counts {
		c <- prometheus.MustNewConstMetric(k.desc, prometheus.GaugeValue, float64(n), kind)
	}
}
