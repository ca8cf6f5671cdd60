package daemon

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/status"
)

// cnfLoop is a CNF that is being configured. It ends when it is told to, once nothing more is written.
type cnfLoop struct {
	m      *cnfs
	cnf    *intent.CNF
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{} // closed once it has ended
	log    logrus.FieldLogger

	mu      sync.Mutex
	loop    *reconcile.Loop // nil while there is no target
	client  *openwrt.Client // to ask for reports; nil while there is no target
	trouble error           // why there is no target
	// agreed says that the device was in sync under this daemon once, and nothing was kept on it: what went from the source
	// since then went while netloom looked, so that nothing that the device holds is lost.
	agreed bool
}

// start makes the cnfLoop of g, which begins once before has ended.
func (m *cnfs) start(ctx context.Context, g *intent.CNF, before *cnfLoop) *cnfLoop {
	ctx, cancel := context.WithCancel(ctx)
	e := &cnfLoop{
		m: m, cnf: g, began: time.Now(), cancel: cancel, done: make(chan struct{}), log: m.log.WithField("target", targetName(g)),
	}
	m.started.Go(func() {
		defer close(e.done)
		if before != nil {
			<-before.done // two of them must not write to one device
			e.agreed = before.agreed
		}
		e.run(ctx)
	})
	return e
}

// run makes targets for the CNF, one at a time, until ctx ends. A new one is made when the CNF's CA changes.
func (e *cnfLoop) run(ctx context.Context) {
	pause := e.m.loops.RetryMin
	for ctx.Err() == nil {
		device, err := e.m.device(ctx, e.cnf)
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
func (e *cnfLoop) blame(err error) {
	e.mu.Lock()
	told := e.trouble != nil && e.trouble.Error() == err.Error()
	e.trouble = err
	e.mu.Unlock()
	if !told {
		e.log.WithError(err).Warn("CNF cannot be configured, trying again")
	}
	e.m.unasked.Drop(e.cnf.ID)
	e.m.changed(e.cnf.Scope, true)
}

// serve keeps the CNF configured until ctx ends or the CA of device is not the CNF's any more.
func (e *cnfLoop) serve(ctx context.Context, device Device) error {
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
	opts.Target, opts.Log, opts.Observer = device.Target, e.m.log, reconcile.Observers{e.m.observe, &cnfWatcher{cnfLoop: e}}
	opts.MaxInterval = e.m.opts.Interval
	if e.hasAgreed() {
		opts.MaxDeleteFraction, opts.Unreadable = 1, nil
	}
	loop := reconcile.New(target.Backend, e.m.latest, opts)
	e.set(loop, client)
	defer e.m.reportKept()
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

func (e *cnfLoop) set(loop *reconcile.Loop, client *openwrt.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loop, e.client = loop, client
	if loop != nil {
		e.trouble = nil
	}
}

// agree notes that the device is in sync.
func (e *cnfLoop) agree() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.agreed = e.agreed || e.loop != nil && len(e.loop.Status().Kept) == 0
}

func (e *cnfLoop) hasAgreed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.agreed
}

// untilCAChanges returns when ctx ends, or when the CNF's Secret has another CA than before. One that cannot be read is
// no change.
func (e *cnfLoop) untilCAChanges(ctx context.Context, before []byte) {
	for {
		if !wait(ctx, e.m.opts.Interval) {
			return
		}
		if e.cnf.Certificate == "" {
			continue
		}
		now, err := e.m.authority(ctx, e.cnf)
		if err == nil && !bytes.Equal(now, before) {
			e.log.Info("the CNF's CA has changed")
			return
		}
	}
}

// wake says that there is a new snapshot.
func (e *cnfLoop) wake() {
	e.mu.Lock()
	loop := e.loop
	e.mu.Unlock()
	if loop != nil {
		loop.Wake()
	}
}

// reporter is the client to ask for reports; nil while there is none.
func (e *cnfLoop) reporter() *openwrt.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client
}

// patienceRounds is for how many read-backs a CNF may be in trouble before what it holds is taken for unknown.
const patienceRounds = 2

// stands tells how the target stands.
func (e *cnfLoop) stands() status.Loop {
	e.mu.Lock()
	loop, trouble, since := e.loop, e.trouble, e.began
	e.mu.Unlock()
	var out status.Loop
	if loop == nil {
		out.Trouble, out.Stale = cause.Plain(trouble), true
		return out
	}
	s := loop.Status()
	if s.Synced() {
		out.Revision, out.Skips, since = s.Revision, s.Skips, s.LastConverged
	}
	if !s.Converged {
		out.Trouble = cause.Plain(errors.Unwrap(s.Err))
		out.Stale = time.Since(since) > patienceRounds*e.m.opts.Interval
	}
	return out
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

// cnfWatcher tells whoever writes statuses how the loop of a CNF goes. The loop's goroutine alone calls it.
type cnfWatcher struct {
	cnfLoop *cnfLoop
	good    bool            // the last round ended well
	skips   []backends.Skip // after the last round that did
	drift   int             // ops that undo what someone else did, not written yet
}

// Planned tells nothing.
func (*cnfWatcher) Planned(string, *backends.Plan, time.Duration) {}

// Applied tells that drift has been repaired.
func (w *cnfWatcher) Applied(string, *backends.Plan, time.Duration) {
	if w.drift > 0 {
		w.cnfLoop.m.drifted(w.cnfLoop.cnf, w.drift)
	}
	w.drift = 0
}

// Failed tells that the CNF is in trouble.
func (w *cnfWatcher) Failed(string, reconcile.Phase, error) { w.bad() }

// Refused tells that the CNF is in trouble.
func (w *cnfWatcher) Refused(string, int, int) { w.bad() }

func (w *cnfWatcher) bad() {
	w.good = false
	w.cnfLoop.m.unasked.Drop(w.cnfLoop.cnf.ID)
	w.cnfLoop.m.changed(w.cnfLoop.cnf.Scope, true)
}

// Drift remembers what is to be repaired.
func (w *cnfWatcher) Drift(_ string, ops int) { w.drift = ops }

// Converged tells that the CNF holds more than before, or anything else than before.
func (w *cnfWatcher) Converged(string, intent.Revision, int) {
	w.cnfLoop.agree()
	skips := w.cnfLoop.stands().Skips
	all := !w.good || !slices.Equal(w.skips, skips)
	w.good, w.skips = true, skips
	w.cnfLoop.m.unasked.Drop(w.cnfLoop.cnf.ID)
	w.cnfLoop.m.changed(w.cnfLoop.cnf.Scope, all)
}
