package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// endpointMetrics are the metrics of API servers, under the names of the gateway or of a client.
type endpointMetrics struct{ ready, cause, streams, open, opened *prometheus.Desc }

var (
	gatewayEndpoints = newEndpointMetrics("netloom_gateway_endpoint_")
	clientEndpoints  = newEndpointMetrics("netloom_upstream_endpoint_")
)

func newEndpointMetrics(prefix string) *endpointMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, append([]string{"cluster", "endpoint"}, labels...), nil)
	}
	return &endpointMetrics{
		ready:   desc("ready", "1 if an API server is ready."),
		cause:   desc("not_ready", "1 for the cause why an API server is not ready.", "cause"),
		streams: desc("streams", "Watches and other streams in progress at an API server."),
		open:    desc("connections", "Open connections to an API server."),
		opened:  desc("connections_opened_total", "Connections to an API server that were opened, with the current credentials."),
	}
}

func (m *endpointMetrics) describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.ready, m.cause, m.streams, m.open, m.opened} {
		out <- d
	}
}

// collect reports the state of the API servers of a cluster.
func (m *endpointMetrics) collect(out chan<- prometheus.Metric, c *upstream.Cluster) {
	for _, e := range c.Endpoints() {
		report := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, v, append([]string{c.Name(), e.Endpoint}, labels...)...)
		}
		ready := 0.0
		if e.Ready {
			ready = 1
		} else {
			report(m.cause, prometheus.GaugeValue, 1, string(e.Cause))
		}
		report(m.ready, prometheus.GaugeValue, ready)
		report(m.streams, prometheus.GaugeValue, float64(e.Streams))
		report(m.open, prometheus.GaugeValue, float64(e.Connections))
		report(m.opened, prometheus.CounterValue, float64(e.Opened))
	}
}
