package gateway

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/watchcache"
)

// metrics are the metrics of requests.
type metrics struct {
	requests *prometheus.CounterVec
	refused  *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	inflight *prometheus.GaugeVec
	events   *prometheus.CounterVec
}

func newMetrics() *metrics {
	name := func(s string) string { return "netloom_gateway_" + s }
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("requests_total"), Help: "Requests that have ended, by cluster, verb and status code.",
		}, []string{"cluster", "verb", "code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("refused_requests_total"), Help: "Requests that the gateway answered itself, by cluster and reason.",
		}, []string{"cluster", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name("request_duration_seconds"), Help: "Duration of requests, except for watches and other streams.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"cluster", "verb"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: name("requests_in_flight"), Help: "Requests in progress, by cluster and kind: short or stream.",
		}, []string{"cluster", "kind"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("upstream_events_total"), Help: "Requests that were sent to another API server (retry), and API servers taken out of service by a failed connection (ejected).",
		}, []string{"cluster", "event"}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.refused, m.latency, m.inflight, m.events}
}

// Describe is for prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(out)
	}
}

// Collect is for prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(out)
	}
}

func (x *exchange) kind() string {
	if x.streams {
		return "stream"
	}
	return "short"
}

// begin counts a request that is in progress until end is called.
func (m *metrics) begin(x *exchange) (end func()) {
	gauge := m.inflight.WithLabelValues(x.tenant.cluster.Name(), x.kind())
	gauge.Inc()
	return gauge.Dec
}

// verbs are the verbs that appear in metrics. Clients can make up others.
var verbs = []string{
	"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "post", "put", "head", "options",
}

// verbOf returns the verb of a request for metrics; nil is a request that cannot be read.
func verbOf(info *request.RequestInfo) string {
	if info != nil && slices.Contains(verbs, strings.ToLower(info.Verb)) {
		return strings.ToLower(info.Verb)
	}
	return "other"
}

// finish counts and logs a request.
func (g *Gateway) finish(x *exchange) {
	cluster, verb := "", verbOf(x.info)
	if x.tenant != nil {
		cluster = x.tenant.cluster.Name()
	}
	g.metrics.requests.WithLabelValues(cluster, verb, strconv.Itoa(x.w.code)).Inc()
	if x.refused != "" {
		g.metrics.refused.WithLabelValues(cluster, x.refused).Inc()
	}
	g.audit(x, auditv1.StageResponseComplete)
	took := time.Since(x.began)
	if x.route != nil && !x.streams {
		g.metrics.latency.WithLabelValues(cluster, verb).Observe(took.Seconds())
	}
	if g.opts.AccessLog == nil || x.route == nil || !x.route.Log {
		return
	}
	fields := logrus.Fields{
		"cluster": cluster, "verb": x.info.Verb, "path": x.r.URL.Path, "code": x.w.code, "bytes": x.w.bytes, "duration": took.Round(time.Microsecond).String(),
		"user": x.effective.GetName(), "endpoint": x.sentTo.Endpoint, "policy": x.route.Policy, "auditID": x.auditID, "client": x.r.RemoteAddr,
	}
	if x.requester.GetName() != x.effective.GetName() {
		fields["requester"] = x.requester.GetName()
	}
	if x.refused != "" {
		fields["refused"] = x.refused
	}
	g.opts.AccessLog.WithFields(fields).Info("request")
}

// collector reports the state of endpoints when it is asked.
type collector struct{ gateway *Gateway }

var (
	sourceReadable = prometheus.NewDesc("netloom_gateway_source_readable", "1 if the UpstreamClusters can be read, 0 if only what was read before is served.", nil, nil)
	sharedWatches  = prometheus.NewDesc("netloom_gateway_shared_watches", "Watches that are served from one watch of the gateway, by cluster and resource.", []string{"cluster", "resource"}, nil)
	sharedObjects  = prometheus.NewDesc("netloom_gateway_shared_objects", "Objects of shared watches in memory.", []string{"cluster", "resource"}, nil)
	sharedLost     = prometheus.NewDesc("netloom_gateway_shared_watch_interrupted_seconds", "How long the gateway's own watch has been interrupted, 0 if it is not.", []string{"cluster", "resource"}, nil)
	sharedRequests = prometheus.NewDesc("netloom_gateway_shared_requests_total", "Lists and watches that were answered from shared watches (list, watch), and others of the same kinds (forwarded).", []string{"cluster", "answer"}, nil)
	credentialed   = prometheus.NewDesc("netloom_gateway_credentials_current", "1 if the credentials that an UpstreamCluster refers to can be obtained, 0 if only the last ones are used, or none.", []string{"cluster"}, nil)
	divides        = prometheus.NewDesc("netloom_gateway_limits_divided", "1 if limits of all instances are divided among them, 0 if each instance has the limits of one.", nil, nil)
	reports        = prometheus.NewDesc("netloom_gateway_reports_status", "1 if this instance writes the conditions Ready and CredentialsCurrent of UpstreamClusters, 0 if another one does, or none.", nil, nil)
	limitNow       = prometheus.NewDesc("netloom_gateway_limit", "What this instance has of a limit of all instances: requests per second, or at a time.", []string{"cluster", "schema"}, nil)
	auditDropped   = prometheus.NewDesc("netloom_gateway_audit_events_dropped_total", "Audit events that could not be written.", nil, nil)
	refusedNow     = prometheus.NewDesc("netloom_gateway_clusters_beyond_limit", "UpstreamClusters that are not served because there are too many.", nil, nil)
	accepted       = prometheus.NewDesc("netloom_gateway_cluster_accepted", "1 if the newest version of an UpstreamCluster is served, 0 if it has faults or is defined more than once.", []string{"cluster"}, nil)
)

// Describe is for prometheus.Collector.
func (*collector) Describe(out chan<- *prometheus.Desc) {
	gatewayEndpoints.describe(out)
	out <- sourceReadable
	out <- accepted
	out <- refusedNow
	out <- credentialed
	out <- divides
	out <- reports
	out <- limitNow
	out <- auditDropped
	out <- sharedWatches
	out <- sharedObjects
	out <- sharedLost
	out <- sharedRequests
}

// Collect is for prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	source, set := c.gateway.sourceState(), c.gateway.set
	gauge(sourceReadable, number(readable(&source)))
	gauge(divides, number(c.gateway.divides.Load()))
	gauge(reports, number(c.gateway.reports.Load()))
	if log := c.gateway.opts.Audit; log != nil {
		out <- prometheus.MustNewConstMetric(auditDropped, prometheus.CounterValue, float64(log.Dropped()))
	}
	gauge(refusedNow, float64(set.refused()))
	faults := set.Faults()
	for _, t := range set.all() {
		name := t.cluster.Name()
		if _, faulty := faults[name]; !faulty {
			gauge(accepted, 1, name)
		}
		gatewayEndpoints.collect(out, t.cluster)
		for _, l := range t.cluster.Divided() {
			gauge(limitNow, l.Limiter.Limit(), name, l.Schema.Name)
		}
		if fault, kept := set.credentials.Fault(name); kept {
			gauge(credentialed, number(fault == nil), name)
		}
		if t.cache != nil {
			collectShared(out, name, t.cache.Stats())
		}
	}
	for name := range faults {
		gauge(accepted, 0, name)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func collectShared(out chan<- prometheus.Metric, cluster string, stats watchcache.Stats) {
	for answer, n := range map[string]uint64{"list": stats.Lists, "watch": stats.Watches, "forwarded": stats.Passed} {
		out <- prometheus.MustNewConstMetric(sharedRequests, prometheus.CounterValue, float64(n), cluster, answer)
	}
	for _, kind := range stats.Kinds {
		if !kind.Synced {
			continue // nobody has asked for it, or it cannot be read
		}
		for d, v := range map[*prometheus.Desc]float64{
			sharedWatches: float64(kind.Watches), sharedObjects: float64(kind.Objects), sharedLost: kind.Interrupted.Seconds(),
		} {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, cluster, kind.Resource)
		}
	}
}
