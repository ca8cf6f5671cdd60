package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// clientMetrics are the metrics of the requests of one client.
type clientMetrics struct {
	requests *prometheus.CounterVec
	waits    *prometheus.HistogramVec
	inflight prometheus.Gauge
	events   *prometheus.CounterVec
}

func newClientMetrics(cluster string) *clientMetrics {
	name, labels := func(s string) string { return "netloom_upstream_" + s }, prometheus.Labels{"cluster": cluster}
	return &clientMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("requests_total"), ConstLabels: labels,
			Help: "Requests to the API servers of --upstream-cluster, by verb and status code; the code is error if there was no response.",
		}, []string{"verb", "code"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name("limit_wait_seconds"), ConstLabels: labels,
			Help:    "Time that requests waited for a limit, by flow control schema.",
			Buckets: []float64{.001, .01, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"schema"}),
		inflight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: name("requests_in_flight"), ConstLabels: labels,
			Help: "Requests in progress, without watches and other streams.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("events_total"), ConstLabels: labels,
			Help: "Requests that were sent to another API server (retry), and API servers taken out of service by a failed connection (ejected).",
		}, []string{"event"}),
	}
}

func (m *clientMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.waits, m.inflight, m.events}
}

func (m *clientMetrics) count(event upstream.Event) { m.events.WithLabelValues(string(event)).Inc() }

// waited records how long a request has waited for a limit; schema is "" for none.
func (m *clientMetrics) waited(schema string, took time.Duration) {
	if schema != "" {
		m.waits.WithLabelValues(schema).Observe(took.Seconds())
	}
}

// answered counts a request, whose response is nil if there was none.
func (m *clientMetrics) answered(info *request.RequestInfo, response *http.Response) {
	code := "error"
	if response != nil {
		code = strconv.Itoa(response.StatusCode)
	}
	m.requests.WithLabelValues(verbOf(info), code).Inc()
}

var clientAccepted = prometheus.NewDesc("netloom_upstream_cluster_accepted",
	"1 if the newest version of the UpstreamCluster is in use, 0 if its file cannot be read or has faults.", []string{"cluster"}, nil)

// Describe is for prometheus.Collector.
func (c *Client) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics.all() {
		m.Describe(out)
	}
	clientEndpoints.describe(out)
	out <- clientAccepted
}

// Collect is for prometheus.Collector.
func (c *Client) Collect(out chan<- prometheus.Metric) {
	for _, m := range c.metrics.all() {
		m.Collect(out)
	}
	clientEndpoints.collect(out, c.cluster)
	accepted := 0.0
	if state := c.directory.State(); readable(&state) && c.set.accepted() {
		accepted = 1
	}
	out <- prometheus.MustNewConstMetric(clientAccepted, prometheus.GaugeValue, accepted, c.cluster.Name())
}
