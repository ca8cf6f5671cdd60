package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/version"
)

// Metrics has all collectors of one daemon. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	events       *prometheus.CounterVec
	translations prometheus.Counter
	translation  prometheus.Histogram
	problems     prometheus.Gauge
	standing     standing
	unavailable  *prometheus.GaugeVec
	revision     prometheus.Gauge
	sets         prometheus.Gauge
	policies     prometheus.Gauge
	staged       prometheus.Gauge
	differences  *prometheus.CounterVec
	endpoints    prometheus.Gauge

	plan    *prometheus.HistogramVec
	apply   *prometheus.HistogramVec
	ops     *prometheus.CounterVec
	latency *prometheus.HistogramVec

	stages, roundOps, roundChanges *prometheus.HistogramVec
	failures                       *prometheus.CounterVec
	drift                          *prometheus.CounterVec
	readBacks                      *prometheus.CounterVec
	up                             *prometheus.GaugeVec
	contested                      *prometheus.GaugeVec
	owned                          *prometheus.GaugeVec
	interval                       *prometheus.GaugeVec
	skips                          *prometheus.GaugeVec
	applied                        *prometheus.GaugeVec

	coverage coverageMetrics
	cnfs     cnfMetrics
	leader   leaderMetrics

	requests  *prometheus.CounterVec // that require authentication
	readiness *prometheus.CounterVec // writes of conditions; nil before Readiness

	mu      sync.Mutex
	pending []published                // oldest first
	reached map[string]intent.Revision // by target

	unenforced func() time.Duration // nil is 0
}

// New creates the collectors, all at zero.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), reached: map[string]intent.Revision{}}
	m.makePipeline()
	m.makeTargets()
	m.makeCoverage()
	m.makeCNFs()
	m.makeHTTP()
	m.makeLeader()
	build := version.Current()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "netloom_build_info", Help: "Version of netloom. Always 1.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Revision, "goversion": build.Go},
	})
	info.Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) makePipeline() {
	m.events = m.counter("netloom_events_total", "Changed objects read from the source by kind.", "kind")
	m.translations = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "netloom_translations_total", Help: "Snapshots created.",
	})
	m.translation = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "netloom_translation_duration_seconds", Help: "Time to process a batch of changes and create a snapshot.",
		Buckets: buckets(),
	})
	m.registry.MustRegister(m.translations, m.translation)
	m.problems = m.gauge("netloom_problems", "Objects or parts of objects that could not be understood and are therefore denied, plus targets that are out of sync.")
	m.standing.disturbed, m.standing.blind = map[string]bool{}, map[string]bool{}
	m.standing.behind, m.standing.set = map[string]bool{}, m.problems.Set
	m.unavailable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "netloom_source_unavailable_kinds", Help: "Kinds that cannot be read because a permission or their definition is missing. Always 1.",
	}, []string{"kind"})
	m.registry.MustRegister(m.unavailable)
	m.revision = m.gauge("netloom_snapshot_revision", "Revision of the newest snapshot.")
	m.sets = m.gauge("netloom_sets", "Sets in the newest snapshot.")
	m.policies = m.gauge("netloom_policies", "Policies in the newest snapshot, one for each direction.")
	m.staged = m.gauge("netloom_staged_policies", "Policies that are staged: they are not in the newest snapshot.")
	m.differences = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "netloom_staged_flows_total",
		Help: "Flows in ACL logs that staged policies would decide differently, each counted once for a policy while it is distinguished.",
	}, []string{"would"})
	m.registry.MustRegister(m.differences)
	for _, would := range []string{"denied", "allowed"} {
		m.differences.WithLabelValues(would)
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "netloom_oldest_unenforced_change_seconds",
		Help: "Age of the oldest change that is not in force in every database. 0 if there is none, and on a standby.",
	}, m.oldest))
	m.endpoints = m.gauge("netloom_endpoints", "Endpoints in the label cache.")
}

func (m *Metrics) makeTargets() {
	m.plan = m.histogram("netloom_plan_duration_seconds",
		"Time to plan: to compare a snapshot with a target. Full plans read everything back.", "target", "full")
	m.readBacks = m.counter("netloom_readbacks_total",
		"Plans made from a read-back of everything that netloom owns in the target, by reason.", "target", "reason")
	m.apply = m.histogram("netloom_apply_duration_seconds", "Time to write a plan to a target.", "target")
	m.stages = m.histogram("netloom_round_stage_seconds",
		"Time that a round with writes took: to wait, to plan, to order and send its operations, and to be committed.", "target", "stage")
	m.roundOps = m.counts("netloom_round_operations", "Operations of a round with writes.")
	m.roundChanges = m.counts("netloom_round_changes", "Sets, policies and load balancers that may differ in a round with writes.")
	m.latency = m.histogram("netloom_event_to_commit_seconds",
		"Time from reading a change from the source until the target is in sync with it.", "target")
	m.ops = m.counter("netloom_ops_total", "Writes to a target by verb and kind of object.", "target", "verb", "kind")
	m.failures = m.counter("netloom_target_errors_total", "Failed rounds by phase: plan, apply, or repair of what others changed.",
		"target", "phase")
	m.drift = m.counter("netloom_drift_found_total", "Operations that were needed because someone else changed the target.",
		"target")
	m.up = m.gaugeVec("netloom_target_up", "1 if the target is in sync with a snapshot as far as netloom knows, otherwise 0.")
	m.contested = m.gaugeVec("netloom_target_contested",
		"1 while someone else changes the target faster than netloom repairs it, and for 10 s after that; otherwise 0.")
	m.interval = m.gaugeVec("netloom_readback_interval_seconds",
		"Time between two plans from a read-back of everything. Longer than configured for a device that takes long to answer.")
	m.owned = m.gaugeVec("netloom_owned_rows", "Rows or sections that netloom owns in the target.")
	m.skips = m.gaugeVec("netloom_skips", "Intents that the target could not express in the last full plan; they are denied.")
	m.applied = m.gaugeVec("netloom_target_revision", "Revision of the last snapshot that the target was in sync with.")
}

// buckets range from 0.25 ms to 32 s.
func buckets() []float64 { return prometheus.ExponentialBuckets(0.00025, 2, 18) }

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) gaugeVec(name, help string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"target"})
	m.registry.MustRegister(g)
	return g
}

// counts makes a histogram of numbers for each target.
func (m *Metrics) counts(name, help string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: []float64{1, 5, 10, 50, 100, 500, 1000, 2000, 10_000, 100_000},
	}, []string{"target"})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets()}, labels)
	m.registry.MustRegister(h)
	return h
}

// Gatherer returns the registry of the collectors.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves the metrics, and those of others, in the formats that Prometheus reads.
func (m *Metrics) Handler(others ...prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(append(prometheus.Gatherers{m.registry}, others...), promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Unenforced sets the function that returns the age of the oldest change that is not in force. Without one the age is 0.
func (m *Metrics) Unenforced(age func() time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unenforced = age
}

// oldest is the age of the oldest change that is not in force, in seconds.
func (m *Metrics) oldest() float64 {
	m.mu.Lock()
	age := m.unenforced
	m.mu.Unlock()
	if age == nil {
		return 0
	}
	return age().Seconds()
}

// Event counts a changed object of a kind.
func (m *Metrics) Event(kind string) { m.events.WithLabelValues(kind).Inc() }

// Snapshot is the data of a snapshot that metrics show.
type Snapshot struct {
	Revision  intent.Revision
	Since     time.Time     // when the first of its changes was read from the source
	Took      time.Duration // to create it
	Endpoints int
	Sets      int
	Policies  int
	Staged    int // policies that are not in it because they are staged
	Problems  int
	// Unavailable are the kinds that cannot be read.
	Unavailable []string
}

// Published counts a new snapshot.
func (m *Metrics) Published(s Snapshot) {
	m.translations.Inc()
	m.translation.Observe(s.Took.Seconds())
	m.revision.Set(float64(s.Revision))
	m.endpoints.Set(float64(s.Endpoints))
	m.sets.Set(float64(s.Sets))
	m.policies.Set(float64(s.Policies))
	m.staged.Set(float64(s.Staged))
	m.standing.found(s.Problems)
	m.unavailable.Reset()
	for _, kind := range s.Unavailable {
		m.unavailable.WithLabelValues(kind).Set(1)
	}
	m.remember(published{s.Revision, s.Since})
}

// StagedFlow counts a flow that a staged policy would decide differently. Would is denied or allowed.
func (m *Metrics) StagedFlow(would string) { m.differences.WithLabelValues(would).Inc() }
