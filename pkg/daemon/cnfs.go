package daemon

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/status"
)

// cnfs gives every CNF that may be written to a target with a loop, each in a goroutine of its own.
type cnfs struct {
	opts    SDWAN
	loops   reconcile.Options // of every loop, but for target and observer
	owner   string
	latest  func() *intent.Snapshot
	metrics *metrics.Metrics
	observe reconcile.Observer
	// changed is told when a CNF of a scope has been looked at: all says that it may stand differently with any object,
	// otherwise only with those that it did not hold. It must not block.
	changed func(scope intent.Scope, all bool)
	drifted func(g *intent.CNF, ops int) // told when so much was repaired that someone else had changed
	// reportKept is called when a target that may have kept something has ended.
	reportKept func()
	log        logrus.FieldLogger

	wake    chan struct{}
	started sync.WaitGroup

	mu    sync.Mutex
	known map[intent.CNFID]*member

	unasked unasked
}

// cnfKey is what a target is made for: where one of these differs, it is another device, or one that may have forgotten
// everything.
type cnfKey struct {
	addr                 netip.Addr
	run                  string
	account, certificate string
	scope                intent.Scope
	origin               intent.Origin
}

func keyOf(g *intent.CNF) cnfKey {
	return cnfKey{g.Addr, g.Run, g.Account, g.Certificate, g.Scope, g.Origin}
}

// member is all that is known of a CNF of the newest snapshot, or of one that is being left.
type member struct {
	cnf     *intent.CNF
	cnfLoop *cnfLoop // the last one that was started; nil when there was none
	running bool     // cnfLoop has not been told to stop
}

func newCNFs(opts SDWAN, latest func() *intent.Snapshot, log logrus.FieldLogger) *cnfs {
	return &cnfs{
		opts: opts, latest: latest, log: log, wake: make(chan struct{}, 1), known: map[intent.CNFID]*member{},
		changed: func(intent.Scope, bool) {}, drifted: func(*intent.CNF, int) {}, reportKept: func() {},
	}
}

// Wake says that there is a new snapshot. It never blocks.
func (m *cnfs) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// A burst of changes is one plan, and so one reload of each service: snapshots are gathered until none came for a while, but
// not for ever.
const (
	cnfQuiet  = 200 * time.Millisecond
	cnfGather = time.Second
)

// Run works until ctx ends, and until every target has been left as it is then. It may be called again.
func (m *cnfs) Run(ctx context.Context) error {
	m.unasked.Begin()
	m.Wake()
	for m.gather(ctx) {
		if s := m.latest(); s != nil {
			m.compare(ctx, s)
		}
	}
	m.stopAll()
	m.started.Wait()
	m.forgetAll()
	return nil
}

// gather waits for a wake and for those that follow it closely. It is false when ctx has ended.
func (m *cnfs) gather(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-m.wake:
	}
	limit := time.After(cnfGather)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-limit:
			return true
		case <-time.After(cnfQuiet):
			return true
		case <-m.wake:
		}
	}
}

// compare starts and stops targets so that they are those of s, and waits for none of them.
func (m *cnfs) compare(ctx context.Context, s *intent.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unasked.Are(s)
	counts := map[string]int{}
	seen := map[intent.CNFID]bool{}
	for g := range s.CNFs() {
		seen[g.ID] = true
		counts[stateOf(g)]++
		p := m.known[g.ID]
		if p == nil {
			p = &member{}
			m.known[g.ID] = p
			m.metrics.Target(targetName(g))
		}
		was := p.cnf
		p.cnf = g
		if !g.Writable() || was != nil && keyOf(was) != keyOf(g) {
			m.unasked.Drop(g.ID) // it may have forgotten everything by the time that it is asked
		}
		switch {
		case !g.Writable():
			p.stop()
		case p.running && keyOf(was) == keyOf(g):
			p.cnfLoop.wake()
		default:
			p.stop()
			p.cnfLoop, p.running = m.start(ctx, g, p.cnfLoop), true
		}
	}
	for id, p := range m.known {
		if !seen[id] {
			p.stop()
			m.forget(p)
			delete(m.known, id)
			m.unasked.Drop(id)
		}
	}
	m.metrics.CNFs(counts)
}

// forget drops the metrics of a CNF that is gone, once nothing more is counted of it.
func (m *cnfs) forget(p *member) {
	target := targetName(p.cnf)
	if p.cnfLoop == nil {
		m.metrics.Forget(target)
		return
	}
	m.started.Go(func() {
		<-p.cnfLoop.done
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, other := range m.known {
			if targetName(other.cnf) == target {
				return // it has come back
			}
		}
		m.metrics.Forget(target)
	})
}

func (m *cnfs) stopAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.known {
		p.stop()
	}
}

// forgetAll drops what is known of CNFs. No target is left.
func (m *cnfs) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.known {
		m.metrics.Forget(targetName(p.cnf))
	}
	clear(m.known)
	m.metrics.CNFs(nil)
}

// stop tells the target of a CNF to end, if it has one.
func (p *member) stop() {
	if p.running {
		p.cnfLoop.cancel()
		p.running = false
	}
}

// Loops tells how the target of each CNF stands.
func (m *cnfs) Loops() map[intent.CNFID]status.Loop {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[intent.CNFID]status.Loop, len(m.known))
	for id, p := range m.known {
		if p.running {
			out[id] = p.cnfLoop.stands()
		}
	}
	return out
}

// Reporters lists the CNFs, with the target of each that has one, ordered by ID.
func (m *cnfs) Reporters() []reporter {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]reporter, 0, len(m.known))
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		r := reporter{cnf: m.known[id].cnf, target: targetName(m.known[id].cnf)}
		if m.known[id].running {
			r.client = m.known[id].cnfLoop.reporter()
		}
		out = append(out, r)
	}
	return out
}

// targetName is what the target of a CNF is called.
func targetName(g *intent.CNF) string {
	return "openwrt/" + g.Origin.Namespace + "/" + g.Origin.Name
}

// stateOf is how the metrics count a CNF.
func stateOf(g *intent.CNF) string {
	switch {
	case g.Leaving:
		return metrics.CNFLeaving
	case g.Conflict != "":
		return metrics.CNFConflict
	case !g.Writable():
		return metrics.CNFNotReady
	default:
		return metrics.CNFManaged
	}
}
