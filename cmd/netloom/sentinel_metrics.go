package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netloom/netloom/pkg/answers/verify"
)

// sentinelMetrics are the results of the last comparison. The zero value is not usable: use newSentinelMetrics. It is safe for concurrent use.
//
// netloom_verify_disagreements is absent while unknown: 0 would mean agreement.
type sentinelMetrics struct {
	registry      *prometheus.Registry
	disagreements *prometheus.Desc
	conclusive    *prometheus.Desc
	pods          *prometheus.Desc
	seconds       *prometheus.Desc

	mu     sync.Mutex
	report *verify.Report // nil if the last comparison failed, or there was none
	last   time.Time      // of the last comparison that did not fail
}

// newSentinelMetrics makes metrics that know nothing yet.
func newSentinelMetrics() *sentinelMetrics {
	m := &sentinelMetrics{
		registry: prometheus.NewRegistry(),
		disagreements: prometheus.NewDesc("netloom_verify_disagreements",
			"Groups of connections that the database opens or closes contrary to the policies. Absent while unknown.", []string{"effect"}, nil),
		conclusive: prometheus.NewDesc("netloom_verify_conclusive",
			"1 if the last comparison judged everything that it should; 0 if something could not be read or judged.", nil, nil),
		pods: prometheus.NewDesc("netloom_verify_pods", "Pods whose connections the last comparison judged at their own port.", nil, nil),
		seconds: prometheus.NewDesc("netloom_verify_last_comparison_timestamp_seconds",
			"Unix time of the last comparison for which everything could be read.", nil, nil),
	}
	m.registry.MustRegister(m)
	return m
}

// handler serves the metrics.
func (m *sentinelMetrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *sentinelMetrics) observe(report *verify.Report, err error, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.report = report; err != nil {
		m.report = nil
		return
	}
	m.last = now
}

// Describe implements prometheus.Collector.
func (m *sentinelMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.disagreements, m.conclusive, m.pods, m.seconds} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *sentinelMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if !m.last.IsZero() {
		gauge(m.seconds, float64(m.last.Unix()))
	}
	if m.report == nil {
		gauge(m.conclusive, 0)
		return
	}
	conclusive := 0.0
	if m.report.Conclusive() {
		conclusive = 1
	}
	gauge(m.conclusive, conclusive)
	gauge(m.pods, float64(m.report.Pods))
	for effect, n := range map[verify.Effect]int{verify.Opens: m.report.Opens, verify.Closes: m.report.Closes} {
		if n > 0 || m.report.Conclusive() {
			gauge(m.disagreements, float64(n), string(effect))
		}
	}
}
