package daemon

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/status"
)

// edge is a gateway that is being configured. It ends when it is told to, once nothing more is written.
type edge struct {
	m       *gateways
	gateway *intent.Gateway
	began   time.Time
	cancel  context.CancelFunc
	done    chan struct{} // closed once it has ended
	log     logrus.FieldLogger

	mu      sync.Mutex
	loop    *reconcile.Loop // nil while there is no target
	client  *openwrt.Client // to ask for reports; nil while there is no target
	trouble error           // why there is no target
}

// start makes an edge of g, which begins once before has ended.
func (m *gateways) start(ctx context.Context, g *intent.Gateway, before *edge) *edge {
	ctx, cancel := context.WithCancel(ctx)
	e := &edge{
		m: m, gateway: g, began: time.Now(), cancel: cancel, done: make(chan struct{}), log: m.log.WithField("target", targetName(g)),
	}
	m.edges.Go(func() {
		defer close(e.done)
		if before != nil {
			<-before.done // two of them must not write to one device
		}
		e.run(ctx)
	})
	return e
}

// run makes targets for the gateway, one at a time, until ctx ends. A new one is made when the gateway's CA changes.
func (e *edge) run(ctx context.Context) {
	pause := e.m.loops.RetryMin
	for ctx.Err() == nil {
		device, err := e.m.device(ctx, e.gateway)
		if err == nil {
			err = e.serve(ctx, device)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // something that the target was made with has changed
			pause = e.m.loops.RetryMin
			continue
		}
		e.blame(err)
		wait(ctx, pause)
		pause = min(2*pause, e.m.loops.RetryMax)
	}
}

// blame notes why there is no target.
func (e *edge) blame(err error) {
	e.mu.Lock()
	told := e.trouble != nil && e.trouble.Error() == err.Error()
	e.trouble = err
	e.mu.Unlock()
	if !told {
		e.log.WithError(err).Warn("gateway cannot be configured, trying again")
	}
	e.m.unasked.Drop(e.gateway.ID)
	e.m.changed(e.gateway.Scope, true)
}

// serve keeps the gateway configured until ctx ends or the CA of device is not the gateway's any more.
func (e *edge) serve(ctx context.Context, device Device) error {
	target, err := e.m.opts.Target(device)
	if err != nil {
		return err
	}
	reports := device.Client
	reports.Connections = 1
	client, err := openwrt.New(reports)
	if err != nil {
		return errors.Join(err, target.Backend.Close())
	}
	opts := e.m.loops
	opts.Target, opts.Log, opts.Observer = device.Target, e.m.log, reconcile.Observers{e.m.observe, &edgeWatcher{edge: e}}
	opts.MaxInterval = e.m.opts.Interval
	loop := reconcile.New(target.Backend, e.m.latest, opts)
	e.set(loop, client)
	defer e.set(nil, nil)

	inner, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { _ = loop.Run(inner) }) // fails only where it runs already
	if target.Run != nil {
		work.Go(func() { _ = target.Run(inner) }) // what it says, the loop hears too
	}
	e.untilCAChanges(ctx, device.Client.CA)
	cancel()
	work.Wait()
	client.Close()
	return target.Backend.Close()
}

func (e *edge) set(loop *reconcile.Loop, client *openwrt.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loop, e.client = loop, client
	if loop != nil {
		e.trouble = nil
	}
}

// untilCAChanges returns when ctx ends, or when the gateway's Secret has another CA than before. One that cannot be read is
// no change.
func (e *edge) untilCAChanges(ctx context.Context, before []byte) {
	for {
		if !wait(ctx, e.m.opts.Interval) {
			return
		}
		if e.gateway.Certificate == "" {
			continue
		}
		now, err := e.m.authority(ctx, e.gateway)
		if err == nil && !bytes.Equal(now, before) {
			e.log.Info("the gateway's CA has changed")
			return
		}
	}
}

// wake says that there is a new snapshot.
func (e *edge) wake() {
	e.mu.Lock()
	loop := e.loop
	e.mu.Unlock()
	if loop != nil {
		loop.Wake()
	}
}

// reporter is the client to ask for reports; nil while there is none.
func (e *edge) reporter() *openwrt.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client
}

// patienceRounds is for how many read-backs a gateway may be in trouble before what it holds is taken for unknown.
const patienceRounds = 2

// stands tells how the target stands.
func (e *edge) stands() status.Loop {
	e.mu.Lock()
	loop, trouble, since := e.loop, e.trouble, e.began
	e.mu.Unlock()
	var out status.Loop
	if loop == nil {
		out.Trouble, out.Stale = plainly(trouble), true
		return out
	}
	s := loop.Status()
	if s.Synced() {
		out.Revision, out.Skips, since = s.Revision, s.Skips, s.LastConverged
	}
	if !s.Converged {
		out.Trouble = plainly(errors.Unwrap(s.Err))
		out.Stale = time.Since(since) > patienceRounds*e.m.opts.Interval
	}
	return out
}

// plainly spells an error without what differs each time that it is met: the ports of clients, and the time at which a
// certificate was looked at.
func plainly(err error) string {
	if err == nil {
		return ""
	}
	return regexp.MustCompile(`[^ ]+->|current time \S+ `).ReplaceAllString(err.Error(), "")
}

// wait waits; it is false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// edgeWatcher tells whoever writes statuses how the loop of a gateway goes. The loop's goroutine alone calls it.
type edgeWatcher struct {
	edge  *edge
	good  bool            // the last round ended well
	skips []backends.Skip // after the last round that did
	drift int             // ops that undo what someone else did, not written yet
}

// Planned tells nothing.
func (*edgeWatcher) Planned(string, *backends.Plan, time.Duration) {}

// Applied tells that drift has been repaired.
func (w *edgeWatcher) Applied(string, *backends.Plan, time.Duration) {
	if w.drift > 0 {
		w.edge.m.drifted(w.edge.gateway, w.drift)
	}
	w.drift = 0
}

// Failed tells that the gateway is in trouble.
func (w *edgeWatcher) Failed(string, reconcile.Phase, error) { w.bad() }

// Refused tells that the gateway is in trouble.
func (w *edgeWatcher) Refused(string, int, int) { w.bad() }

func (w *edgeWatcher) bad() {
	w.good = false
	w.edge.m.unasked.Drop(w.edge.gateway.ID)
	w.edge.m.changed(w.edge.gateway.Scope, true)
}

// Drift remembers what is to be repaired.
func (w *edgeWatcher) Drift(_ string, ops int) { w.drift = ops }

// Converged tells that the gateway holds more than before, or anything else than before.
func (w *edgeWatcher) Converged(string, intent.Revision, int) {
	skips := w.edge.stands().Skips
	all := !w.good || !slices.Equal(w.skips, skips)
	w.good, w.skips = true, skips
	w.edge.m.unasked.Drop(w.edge.gateway.ID)
	w.edge.m.changed(w.edge.gateway.Scope, all)
}
