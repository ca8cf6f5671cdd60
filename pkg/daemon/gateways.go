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

// gateways gives every gateway that may be written to a target with a loop, each in a goroutine of its own.
type gateways struct {
	opts    SDWAN
	loops   reconcile.Options // of every loop, but for target and observer
	owner   string
	latest  func() *intent.Snapshot
	metrics *metrics.Metrics
	observe reconcile.Observer
	// changed is told when a gateway of a scope has been looked at: all says that it may stand differently with any object,
	// otherwise only with those that it did not hold. It must not block.
	changed func(scope intent.Scope, all bool)
	drifted func(g *intent.Gateway, ops int) // told when so much was repaired that someone else had changed
	log     logrus.FieldLogger

	wake  chan struct{}
	edges sync.WaitGroup

	mu    sync.Mutex
	known map[intent.GatewayID]*post

	unasked unasked
}

// edgeKey is what a target is made for: where one of these differs, it is another device, or one that may have forgotten
// everything.
type edgeKey struct {
	addr                 netip.Addr
	run                  string
	account, certificate string
	scope                intent.Scope
	origin               intent.Origin
}

func keyOf(g *intent.Gateway) edgeKey {
	return edgeKey{g.Addr, g.Run, g.Account, g.Certificate, g.Scope, g.Origin}
}

// post is all that is known of a gateway of the newest snapshot, or of one that is being left.
type post struct {
	gateway *intent.Gateway
	edge    *edge // the last one that was started; nil when there was none
	running bool  // edge has not been told to stop
}

func newGateways(opts SDWAN, latest func() *intent.Snapshot, log logrus.FieldLogger) *gateways {
	return &gateways{
		opts: opts, latest: latest, log: log, wake: make(chan struct{}, 1), known: map[intent.GatewayID]*post{},
		changed: func(intent.Scope, bool) {}, drifted: func(*intent.Gateway, int) {},
	}
}

// Wake says that there is a new snapshot. It never blocks.
func (m *gateways) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// A burst of changes is one plan, and so one reload of each service: snapshots are gathered until none came for a while, but
// not for ever.
const (
	edgeQuiet  = 200 * time.Millisecond
	edgeGather = time.Second
)

// Run works until ctx ends, and until every target has been left as it is then. It may be called again.
func (m *gateways) Run(ctx context.Context) error {
	m.unasked.Begin()
	m.Wake()
	for m.gather(ctx) {
		if s := m.latest(); s != nil {
			m.compare(ctx, s)
		}
	}
	m.stopAll()
	m.edges.Wait()
	m.forgetAll()
	return nil
}

// gather waits for a wake and for those that follow it closely. It is false when ctx has ended.
func (m *gateways) gather(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-m.wake:
	}
	limit := time.After(edgeGather)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-limit:
			return true
		case <-time.After(edgeQuiet):
			return true
		case <-m.wake:
		}
	}
}

// compare starts and stops targets so that they are those of s, and waits for none of them.
func (m *gateways) compare(ctx context.Context, s *intent.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unasked.Are(s)
	counts := map[string]int{}
	seen := map[intent.GatewayID]bool{}
	for g := range s.Gateways() {
		seen[g.ID] = true
		counts[stateOf(g)]++
		p := m.known[g.ID]
		if p == nil {
			p = &post{}
			m.known[g.ID] = p
			m.metrics.Target(targetName(g))
		}
		was := p.gateway
		p.gateway = g
		if !g.Writable() || was != nil && keyOf(was) != keyOf(g) {
			m.unasked.Drop(g.ID) // it may have forgotten everything by the time that it is asked
		}
		switch {
		case !g.Writable():
			p.stop()
		case p.running && keyOf(was) == keyOf(g):
			p.edge.wake()
		default:
			p.stop()
			p.edge, p.running = m.start(ctx, g, p.edge), true
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
	m.metrics.Gateways(counts)
}

// forget drops the metrics of a gateway that is gone, once nothing more is counted of it.
func (m *gateways) forget(p *post) {
	target := targetName(p.gateway)
	if p.edge == nil {
		m.metrics.Forget(target)
		return
	}
	m.edges.Go(func() {
		<-p.edge.done
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, other := range m.known {
			if targetName(other.gateway) == target {
				return // it has come back
			}
		}
		m.metrics.Forget(target)
	})
}

func (m *gateways) stopAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.known {
		p.stop()
	}
}

// forgetAll drops what is known of gateways. No target is left.
func (m *gateways) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.known {
		m.metrics.Forget(targetName(p.gateway))
	}
	clear(m.known)
	m.metrics.Gateways(nil)
}

// stop tells the target of a gateway to end, if it has one.
func (p *post) stop() {
	if p.running {
		p.edge.cancel()
		p.running = false
	}
}

// Loops tells how the target of each gateway stands.
func (m *gateways) Loops() map[intent.GatewayID]status.Loop {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[intent.GatewayID]status.Loop, len(m.known))
	for id, p := range m.known {
		if p.running {
			out[id] = p.edge.stands()
		}
	}
	return out
}

// Reporters lists the gateways, with the target of each that has one, ordered by ID.
func (m *gateways) Reporters() []reporter {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]reporter, 0, len(m.known))
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		r := reporter{gateway: m.known[id].gateway, target: targetName(m.known[id].gateway)}
		if m.known[id].running {
			r.client = m.known[id].edge.reporter()
		}
		out = append(out, r)
	}
	return out
}

// targetName is what the target of a gateway is called.
func targetName(g *intent.Gateway) string {
	return "openwrt/" + g.Origin.Namespace + "/" + g.Origin.Name
}

// stateOf is how the metrics count a gateway.
func stateOf(g *intent.Gateway) string {
	switch {
	case g.Leaving:
		return metrics.GatewayLeaving
	case g.Conflict != "":
		return metrics.GatewayConflict
	case !g.Writable():
		return metrics.GatewayNotReady
	default:
		return metrics.GatewayManaged
	}
}
