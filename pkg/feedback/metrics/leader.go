package metrics

import "github.com/prometheus/client_golang/prometheus"

// leaderMetrics are the metrics of leader election.
type leaderMetrics struct {
	leading prometheus.Gauge
	changes prometheus.Counter
}

func (m *Metrics) makeLeader() {
	m.leader.leading = m.gauge("netloom_leader", "1 if this instance writes, 0 if it is on standby.")
	m.leader.leading.Set(1)
	m.leader.changes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "netloom_leader_transitions_total", Help: "New leaders that this instance has seen, including itself.",
	})
	m.registry.MustRegister(m.leader.changes)
}

// Leading sets whether this instance writes. The default is that it does.
func (m *Metrics) Leading(yes bool) {
	n := 0.0
	if yes {
		n = 1
	}
	m.leader.leading.Set(n)
}

// LeaderChanged counts a change of leader, including the loss of one.
func (m *Metrics) LeaderChanged() { m.leader.changes.Inc() }

// Rest deletes the gauges of a target, because another instance writes to it now. Counters stay. No other method may be called
// for the target before the next call of Target.
func (m *Metrics) Rest(target string) {
	of := prometheus.Labels{"target": target}
	for _, g := range append(m.coverage.all(), m.owned, m.skips, m.applied) {
		g.DeletePartialMatch(of)
	}
	m.unwatched(target)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reached, target)
}
