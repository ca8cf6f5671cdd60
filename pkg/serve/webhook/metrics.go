package webhook

import (
	"crypto/tls"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// meters count reviews.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMeters(certificate func() (*tls.Certificate, error)) *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "netloom_admission_requests_total",
			Help: "Admission reviews, by path, operation and result: allowed, warned, denied, error, not ready, unreadable, busy.",
		}, []string{"path", "operation", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "netloom_admission_duration_seconds", Help: "Time to answer an admission review.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15),
		}, []string{"path"}),
	}
	end := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "netloom_admission_certificate_end_seconds",
		Help: "When the serving certificate expires, in seconds since 1970; 0 without one.",
	}, func() float64 {
		c, err := certificate()
		if err != nil || c.Leaf == nil {
			return 0
		}
		return float64(c.Leaf.NotAfter.Unix())
	})
	m.registry.MustRegister(m.requests, m.duration, end)
	return m
}

func (m *meters) count(path, operation, result string, start time.Time) {
	m.requests.WithLabelValues(path, operation, result).Inc()
	m.duration.WithLabelValues(path).Observe(time.Since(start).Seconds())
}

// handler serves the meters of a process that has no others.
func (m *meters) handler() http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, process}, promhttp.HandlerOpts{})
}
