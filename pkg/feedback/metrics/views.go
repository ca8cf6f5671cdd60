package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// View is something that netloom sees, and how current the view is known to be.
type View struct {
	Cluster   string    // "" is the own cluster
	Resource  string    // such as pods, manifests or target tungsten
	Confirmed time.Time // when it was last found to be what there is; zero is not since the start
	Late      bool      // it is not known to be current
	Renewals  map[string]int
}

// views reports, at each scrape, how current each view is known to be.
type views struct {
	confirmed, late, renewals *prometheus.Desc
	list                      func() []View
}

// Views registers how current each view is known to be. It may be called once; list is called at each scrape.
func (m *Metrics) Views(list func() []View) {
	labels := []string{"cluster", "resource"}
	m.registry.MustRegister(&views{
		confirmed: prometheus.NewDesc("netloom_view_confirmed_timestamp_seconds",
			"When the objects read were last confirmed to be current, in seconds since 1970; 0 if not since the start.", labels, nil),
		late: prometheus.NewDesc("netloom_view_late",
			"1 if the objects read were not confirmed to be current for three intervals, otherwise 0.", labels, nil),
		renewals: prometheus.NewDesc("netloom_view_renewals_total",
			"How often all objects were read again by cause: back, the API went back to an older state; differs, a change was not delivered; silent, the watch delivered nothing.",
			append(labels, "cause"), nil),
		list: list,
	})
}

// Describe implements prometheus.Collector.
func (v *views) Describe(c chan<- *prometheus.Desc) {
	c <- v.confirmed
	c <- v.late
	c <- v.renewals
}

// Collect implements prometheus.Collector.
func (v *views) Collect(c chan<- prometheus.Metric) {
	for _, one := range v.list() {
		at, late := 0.0, 0.0
		if !one.Confirmed.IsZero() {
			at = float64(one.Confirmed.UnixMilli()) / 1000
		}
		if one.Late {
			late = 1
		}
		c <- prometheus.MustNewConstMetric(v.confirmed, prometheus.GaugeValue, at, one.Cluster, one.Resource)
		c <- prometheus.MustNewConstMetric(v.late, prometheus.GaugeValue, late, one.Cluster, one.Resource)
		for cause, n := range one.Renewals {
			c <- prometheus.MustNewConstMetric(v.renewals, prometheus.CounterValue, float64(n), one.Cluster, one.Resource, cause)
		}
	}
}
