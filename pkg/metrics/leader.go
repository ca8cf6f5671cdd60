package metrics

import "github.com/prometheus/client_golang/prometheus"

// leaderMetrics are those of the choice of one instance among several.
type leaderMetrics struct {
	leading prometheus.Gauge
	changes prometheus.Counter
}

func (m *Metrics) makeLeader() {
	m.leader.leading = m.gauge("netloom_leader", "Whether this instance writes: 1, or 0 for a standby.")
	m.leader.leading.Set(1)
	m.leader.changes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "netloom_leader_transitions_total", Help: "New holders of the Lease that this instance has seen, itself among them.",
	})
	m.registry.MustRegister(m.leader.changes)
}

// Leading says whether this instance writes. It does unless told otherwise.
func (m *Metrics) Leading(yes bool) {
	n := 0.0
	if yes {
		n = 1
	}
	m.leader.leading.Set(n)
}

// LeaderChanged counts a new leader, or none in place of one.
func (m *Metrics) LeaderChanged() { m.leader.changes.Inc() }

// Rest drops what is said of a target as it is now, because somebody else writes to it. What was counted stays. It has to be
// told nothing of the target before the next call of Target.
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
