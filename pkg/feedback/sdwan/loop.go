package sdwan

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	"github.com/netloom/netloom/pkg/reconcile"
)

// deviceLoop keeps the device of a CNF in sync. It ends after it was canceled, once nothing more is written.
type deviceLoop struct {
	fleet  *fleet
	cnf    *intent.CNF
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{} // closed once it has ended
	log    logrus.FieldLogger
	quiet  quiet
	last   backends.Backend // of the last target; nil before there was one

	mu     sync.Mutex
	loop   *reconcile.Loop        // nil while there is no target
	in     backends.Backend       // that loop keeps in sync; nil while there is no target
	client *openwrt.Client        // requests reports; nil while there is no target
	fault  error                  // why there is no target
	wrote  map[string]metav1.Time // see status.Loop; never changed, only replaced
	// synced is set once the device was in sync with this process, and kept nothing. Objects that went missing from the source since then
	// did so while netloom watched, so nothing on the device is lost.
	synced bool
}

// start makes the loop of a CNF. It begins once before has ended: two of them must not write to one device.
func (f *fleet) start(ctx context.Context, c *intent.CNF, before *deviceLoop) *deviceLoop {
	ctx, cancel := context.WithCancel(ctx)
	d := &deviceLoop{
		fleet: f, cnf: c, began: time.Now(), cancel: cancel, done: make(chan struct{}), log: f.env.Log.WithField("target", c.Target()),
	}
	f.started.Go(func() {
		defer close(d.done)
		if before != nil {
			<-before.done
			d.synced, d.last, d.wrote = before.synced, before.last, before.wrote
		}
		d.run(ctx)
	})
	return d
}

// run makes targets for the CNF, one at a time, until ctx ends. It makes a new one when the CA of the CNF changes.
func (d *deviceLoop) run(ctx context.Context) {
	pause := d.fleet.env.Loops.RetryMin
	for ctx.Err() == nil {
		device, err := d.fleet.device(ctx, d.cnf)
		if err == nil {
			err = d.serve(ctx, device)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // the CA has changed
			pause = d.fleet.env.Loops.RetryMin
			continue
		}
		d.fail(err)
		feedback.Wait(ctx, pause)
		pause = min(2*pause, d.fleet.env.Loops.RetryMax)
	}
}

// fail records why there is no target.
func (d *deviceLoop) fail(err error) {
	d.mu.Lock()
	logged := d.fault != nil && d.fault.Error() == err.Error()
	d.fault = err
	d.mu.Unlock()
	if !logged {
		d.log.WithError(err).Warn("cannot configure the CNF, retrying")
	}
	d.report(true)
}

// report signals that the state of the CNF may have changed.
func (d *deviceLoop) report(all bool) {
	d.fleet.unread.Remove(d.cnf.ID)
	d.fleet.changed(d.cnf.Scope, all)
}

// serve keeps the device in sync until ctx ends or the CA of the CNF has changed.
func (d *deviceLoop) serve(ctx context.Context, device Device) error {
	target, err := d.fleet.opts.Target(device)
	if err != nil {
		return err
	}
	reports := device.Client
	reports.Connections = 1
	client, err := openwrt.New(reports)
	if err != nil {
		return errors.Join(err, target.Backend.Close())
	}
	if heir, ok := target.Backend.(backends.Successor); ok && d.last != nil {
		heir.Succeed(d.last)
	}
	d.last = target.Backend
	opts := d.fleet.env.Loops
	opts.Target, opts.Observer = device.Target, reconcile.Observers{d.fleet.env.Observer, &deviceObserver{loop: d}}
	if d.wasSynced() {
		opts.MaxDeleteFraction, opts.Unreadable = 1, nil
	}
	loop := reconcile.New(target.Backend, d.fleet.latest, opts)
	d.set(loop, target.Backend, client)
	defer d.fleet.env.KeptChanged()
	defer d.set(nil, nil, nil)
	defer d.quiet.Stop()

	inner, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { _ = loop.Run(inner) }) // fails only if it runs already
	if target.Run != nil {
		work.Go(func() { _ = target.Run(inner) }) // the loop gets the same error
	}
	d.untilCAChanges(ctx, device.Client.CA)
	cancel()
	work.Wait()
	client.Close()
	return target.Backend.Close()
}

func (d *deviceLoop) set(loop *reconcile.Loop, in backends.Backend, client *openwrt.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loop, d.in, d.client = loop, in, client
	if loop != nil {
		d.fault = nil
	}
}

// now returns the loop of the target; nil while there is none, with the reason.
func (d *deviceLoop) now() (*reconcile.Loop, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loop, d.fault
}

// sparing is a backend that can leave alone what another one of the same device leaves alone.
type sparing interface{ Spare(like backends.Backend) }

// spare makes another backend of the device as careful with it as the loop's.
func (d *deviceLoop) spare(other backends.Backend) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := other.(sparing); ok && d.in != nil {
		s.Spare(d.in)
	}
}

// noteSync records that the device is in sync.
func (d *deviceLoop) noteSync() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = d.synced || d.loop != nil && len(d.loop.Status().Kept) == 0
}

func (d *deviceLoop) wasSynced() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced
}

// untilCAChanges returns when ctx ends, or when the Secret of the CNF has another CA than before. While the Secret cannot
// be read, the CA has not changed.
func (d *deviceLoop) untilCAChanges(ctx context.Context, before []byte) {
	for feedback.Wait(ctx, d.fleet.opts.Interval) {
		if d.cnf.Certificate == "" {
			continue
		}
		now, err := d.fleet.authority(ctx, d.cnf)
		if err == nil && !bytes.Equal(now, before) {
			d.log.Info("the CA of the CNF has changed")
			return
		}
	}
}

// wake signals that there is a new snapshot.
func (d *deviceLoop) wake() {
	if loop, _ := d.now(); loop != nil {
		d.quiet.Wake(loop.Wake)
	}
}

// reporter returns the client that requests reports; nil while there is none.
func (d *deviceLoop) reporter() *openwrt.Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.client
}

// staleRounds is the number of failed read-backs after which the contents of a device count as unknown.
const staleRounds = 2

// state returns the state of the target.
func (d *deviceLoop) state() state.Target {
	loop, fault := d.now()
	if loop == nil {
		return state.Target{Trouble: cause.Plain(fault), Stale: true}
	}
	s, since := loop.Status(), d.began
	if s.Synced() {
		since = s.LastConverged
	}
	out := target.Of(&s, d.began)
	out.Stale = !s.Converged && time.Since(since) > staleRounds*max(d.fleet.opts.Interval, s.Interval)
	out.Wrote = d.writtenAt()
	return out
}

// noteWritten records when the objects of a plan were written, and forgets the objects that do not exist any more.
func (d *deviceLoop) noteWritten(p *backends.Plan) {
	written := map[string]bool{}
	for i := range p.Ops {
		written[p.Ops[i].Origin] = true
	}
	now, next := feedback.Now(), map[string]metav1.Time{}
	before, s := d.writtenAt(), d.fleet.latest()
	if s == nil {
		return // it is about to end
	}
	for e := range s.DeviceIntentsOf(d.cnf.Scope) {
		origin := e.Origin.String()
		if at, ok := before[origin]; ok {
			next[origin] = at
		}
		if written[origin] {
			next[origin] = now
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrote = next
}

func (d *deviceLoop) writtenAt() map[string]metav1.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wrote
}

// deviceObserver reports what the loop of a device does. Only the goroutine of the loop calls it.
type deviceObserver struct {
	reconcile.Observers // nil: plans alone change nothing

	loop  *deviceLoop
	good  bool            // the last round succeeded
	skips []backends.Skip // after the last successful one
	drift int             // operations that repair drift and are not written yet
	wrote bool            // something was written that statuses may say the CNF has
}

// Applied reports drift that is repaired, and reloads.
func (o *deviceObserver) Applied(_ string, p *backends.Plan, _ time.Duration) {
	if slices.ContainsFunc(p.Ops, func(op backends.Op) bool { return op.Verb == backends.Reload }) {
		o.loop.quiet.Reloaded()
	}
	o.loop.noteWritten(p)
	o.wrote = o.wrote || p.Full
	if o.drift > 0 {
		o.loop.fleet.drifted(o.loop.cnf, o.drift)
	}
	o.drift = 0
}

// Failed reports that the round failed.
func (o *deviceObserver) Failed(string, reconcile.Phase, error) {
	o.good = false
	o.loop.report(true)
}

// Drift records what is about to be repaired.
func (o *deviceObserver) Drift(_ string, ops int) { o.drift = ops }

// Converged reports that the device is in sync, and whether it was not before or accepts other objects.
func (o *deviceObserver) Converged(string, intent.Revision, int) {
	o.loop.noteSync()
	skips := o.loop.state().Skips
	all := !o.good || o.wrote || !slices.Equal(o.skips, skips)
	if o.loop.fleet.opts.Dynamic == nil {
		logSkips(o.loop.log, o.skips, skips)
	}
	o.good, o.wrote, o.skips = true, false, skips
	o.loop.report(all)
}
