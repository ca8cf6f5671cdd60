package sdwan

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
)

// fleet is all CNFs. It gives each that may be written to a target with a loop, in a goroutine of its own.
type fleet struct {
	opts Options
	env  Environment
	// latest is the snapshot that devices are kept in sync with; nil while there is none.
	latest func() *intent.Snapshot
	// changed is called after a round of a CNF of a scope: if all is true, the status of any object may have changed,
	// otherwise only that of objects that the CNF did not have yet. It must not block.
	changed func(scope intent.Scope, all bool)
	drifted func(of *intent.CNF, ops int) // called when that many operations have repaired drift

	wake    chan struct{}
	started sync.WaitGroup

	mu    sync.Mutex
	known map[intent.CNFID]*member

	unread unread
}

// member is a CNF of the newest snapshot, or one that is going.
type member struct {
	cnf     *intent.CNF
	loop    *deviceLoop // the last one that was started; nil if there was none
	running bool        // loop has not been stopped
}

// identity is what a target is made for: if one of these differs, it is another device, or one that may have lost its
// configuration.
type identity struct {
	addr                 netip.Addr
	run                  string
	account, certificate string
	scope                intent.Scope
	origin               intent.Origin
}

func identityOf(c *intent.CNF) identity {
	return identity{c.Addr, c.Run, c.Account, c.Certificate, c.Scope, c.Origin}
}

// spareFactor leaves a device nine tenths of the time for others than read-backs.
const spareFactor = 10

func newFleet(opts Options, env Environment) *fleet {
	loops := &env.Loops
	if loops.RetryMin <= 0 {
		loops.RetryMin = reconcile.DefaultRetryMin
	}
	if loops.RetryMax <= 0 {
		loops.RetryMax = reconcile.DefaultRetryMax
	}
	loops.RetryMax = max(loops.RetryMin, min(loops.RetryMax, opts.Interval))
	loops.MaxInterval, loops.Spare, loops.Log = opts.Interval, spareFactor, env.Log
	return &fleet{
		opts: opts, env: env, wake: make(chan struct{}, 1), known: map[intent.CNFID]*member{},
		changed: func(intent.Scope, bool) {}, drifted: func(*intent.CNF, int) {},
	}
}

// Wake signals that there is a new snapshot. It never blocks.
func (f *fleet) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// A burst of changes is one plan, and therefore one reload of each service: snapshots are gathered until none has come for a while, but not
// for longer than the limit.
const (
	gatherQuiet = 200 * time.Millisecond
	gatherLimit = time.Second
)

// Run works until ctx ends and all loops have ended. Devices then stay as they are. It may be called again.
func (f *fleet) Run(ctx context.Context) error {
	f.unread.Reset()
	f.Wake()
	for f.gather(ctx) {
		if s := f.latest(); s != nil {
			f.compare(ctx, s)
		}
	}
	f.stopAll()
	f.started.Wait()
	f.forgetAll()
	return nil
}

// gather waits for a snapshot and for those that follow it closely. It returns false if ctx has ended.
func (f *fleet) gather(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-f.wake:
	}
	limit := time.After(gatherLimit)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-limit:
			return true
		case <-time.After(gatherQuiet):
			return true
		case <-f.wake:
		}
	}
}

// compare starts and stops loops to match the CNFs of s. It does not wait for any of them.
func (f *fleet) compare(ctx context.Context, s *intent.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread.Begin(s)
	counts := map[string]int{}
	seen := map[intent.CNFID]bool{}
	for c := range s.CNFs() {
		seen[c.ID] = true
		counts[stateOf(c)]++
		m := f.known[c.ID]
		if m == nil {
			m = &member{}
			f.known[c.ID] = m
			f.env.Metrics.Target(c.Target())
		}
		was := m.cnf
		m.cnf = c
		same := was != nil && identityOf(was) == identityOf(c)
		if !c.Writable() || was != nil && !same {
			f.unread.Remove(c.ID) // it may have lost its configuration before it is read
		}
		switch {
		case !c.Writable():
			m.stop()
		case m.running && same:
			m.loop.wake()
		default:
			m.stop()
			m.loop, m.running = f.start(ctx, c, m.loop), true
		}
	}
	for id, m := range f.known {
		if !seen[id] {
			m.stop()
			f.forget(m)
			delete(f.known, id)
			f.unread.Remove(id)
		}
	}
	f.env.Metrics.CNFs(counts)
}

// forget drops the metrics of a deleted CNF, once its loop has stopped counting.
func (f *fleet) forget(m *member) {
	target := m.cnf.Target()
	if m.loop == nil {
		f.env.Metrics.Forget(target)
		return
	}
	f.started.Go(func() {
		<-m.loop.done
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, other := range f.known {
			if other.cnf.Target() == target {
				return // it is back
			}
		}
		f.env.Metrics.Forget(target)
	})
}

func (f *fleet) stopAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.known {
		m.stop()
	}
}

// forgetAll forgets all CNFs. No loop is left.
func (f *fleet) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.known {
		f.env.Metrics.Forget(m.cnf.Target())
	}
	clear(f.known)
	f.env.Metrics.CNFs(nil)
}

// stop stops the loop of a CNF, if it has one.
func (m *member) stop() {
	if m.running {
		m.loop.cancel()
		m.running = false
	}
}

// current returns the loop of a device that is being configured; nil if there is none.
func (m *member) current() *reconcile.Loop {
	if !m.running {
		return nil
	}
	loop, _ := m.loop.now()
	return loop
}

// States lists the state of each CNF that has a loop.
func (f *fleet) States() map[intent.CNFID]state.Target {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[intent.CNFID]state.Target, len(f.known))
	for id, m := range f.known {
		if m.running {
			out[id] = m.loop.state()
		}
	}
	return out
}

// Reporters lists the CNFs, with the client of each that has a loop, ordered by ID.
func (f *fleet) Reporters() []reporter {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]reporter, 0, len(f.known))
	for _, id := range slices.Sorted(maps.Keys(f.known)) {
		r := reporter{cnf: f.known[id].cnf, target: f.known[id].cnf.Target()}
		if f.known[id].running {
			r.client = f.known[id].loop.reporter()
		}
		out = append(out, r)
	}
	return out
}

// Loop returns the status of the loop of a CNF. It is nil while there is none, with the reason if the CNF should have one.
func (c *Controller) Loop(id intent.CNFID) (*reconcile.Status, error) {
	c.fleet.mu.Lock()
	m := c.fleet.known[id]
	running := m != nil && m.running
	c.fleet.mu.Unlock()
	if !running {
		return nil, nil //nolint:nilnil // There is none, and there should be none.
	}
	loop, fault := m.loop.now()
	if loop == nil {
		return nil, fault
	}
	s := loop.Status()
	return &s, nil
}

// Kept lists what devices keep for objects that were missing when their loops began.
func (c *Controller) Kept() []retention.KeptObject {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	var all []retention.KeptObject
	for _, m := range c.fleet.known {
		if loop := m.current(); loop != nil {
			all = append(all, retention.KeptIn(m.cnf.Target(), loop.Status().Kept)...)
		}
	}
	slices.SortFunc(all, retention.KeptObject.Compare)
	return all
}

// Release stops devices from keeping objects, by the names of their targets.
func (c *Controller) Release(inTarget map[string][]object.Ref) {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	for _, m := range c.fleet.known {
		if loop := m.current(); loop != nil {
			loop.Release(inTarget[m.cnf.Target()])
		}
	}
}

// planTimeout is how long a plan for a request may take.
const planTimeout = 10 * time.Second

// Plan returns what would be written to a CNF now. It reads the device over a separate connection and writes nothing.
func (c *Controller) Plan(ctx context.Context, of *intent.CNF) (plan *backends.Plan, err error) {
	if err := WhyNotWritten(of); err != nil {
		return nil, err
	}
	want := c.fleet.latest()
	if want == nil {
		return nil, errors.New("DNS names have not been looked up yet")
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	device, err := c.fleet.device(ctx, of)
	if err != nil {
		return nil, err
	}
	target, err := c.fleet.opts.Target(device)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Backend.Close()) }()
	c.fleet.mu.Lock()
	if m := c.fleet.known[of.ID]; m != nil && m.running {
		m.loop.spare(target.Backend)
	}
	c.fleet.mu.Unlock()
	return target.Backend.Plan(ctx, want, 0)
}

// WhyNotWritten returns why nothing is written to a CNF now; nil if it may be written to.
func WhyNotWritten(c *intent.CNF) error {
	switch {
	case c.Conflict != "":
		return errors.New(c.Conflict)
	case c.Leaving:
		return errors.New("the pod is going away")
	case !c.Ready:
		return errors.New("the pod is not ready")
	case !c.Addr.IsValid():
		return errors.New("the pod has no address")
	default:
		return nil
	}
}

// stateOf returns the state of a CNF for the metrics.
func stateOf(c *intent.CNF) string {
	switch {
	case c.Leaving:
		return metrics.CNFLeaving
	case c.Conflict != "":
		return metrics.CNFConflict
	case !c.Writable():
		return metrics.CNFNotReady
	default:
		return metrics.CNFManaged
	}
}
