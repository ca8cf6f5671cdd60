package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// ErrRunning is what a second, simultaneous Run of one loop returns.
var ErrRunning = errors.New("loop is already running")

// Loop keeps one target in sync with the newest snapshot. Make it with New.
type Loop struct {
	backend backends.Backend
	latest  func() *intent.Snapshot
	opts    Options

	wake chan struct{} // size one: any number of wakes before a round are one
	// release and trigger work likewise for Release and the backend's trigger; trigger is nil if it has none.
	release chan struct{}
	trigger <-chan struct{}
	watcher backends.Watcher // nil if the backend does not notice changes by others
	viewer  backends.Viewer  // nil if the backend sees nothing unasked
	blind   error            // what the viewer returned at the end of the last round

	backlog backlog

	// Only Run's goroutine accesses these.
	pace    pace
	reached *intent.Snapshot  // what the next incremental plan starts from; nil reads back
	stale   backends.ReadBack // why the next plan reads back; "" if the target was in sync with reached at the last write or read
	judged  bool              // the target's rows of objects that are missing have been checked
	// disturbance is an unrepaired change by others, or a contest that has not ended; nil if there is neither.
	disturbance *Disturbance

	mu       sync.Mutex
	running  bool
	status   Status
	forced   time.Time           // until when the guard lets every plan pass
	released map[object.Ref]bool // by Release, since the last round
	woken    wakes
	rounds   []Round // the last ones, oldest first
}

// New makes the loop that brings b to the snapshot that latest returns. Latest returns nil until every source has synced,
// and nothing is planned before that; it must not block, and may be called from several goroutines. The loop does nothing until Run.
func New(b backends.Backend, latest func() *intent.Snapshot, opts Options) *Loop {
	l := &Loop{
		backend: b, latest: latest, opts: opts.withDefaults(), wake: make(chan struct{}, 1), release: make(chan struct{}, 1),
		released: map[object.Ref]bool{}, stale: backends.ReadBackStart,
	}
	if w, ok := b.(backends.Waker); ok {
		l.trigger = w.Wake()
	}
	l.watcher, _ = b.(backends.Watcher)
	l.viewer, _ = b.(backends.Viewer)
	l.pace = newPace(&l.opts)
	l.status.Target = opts.Target
	return l
}

// Wake announces a new snapshot. It never blocks and may be called at any time.
func (l *Loop) Wake() {
	newest := l.latest()
	if l.opts.MinInterval <= 0 { // else all changes of a pause are one round
		l.backlog.add(newest)
	}
	l.wakened(newest)
	ring(l.wake)
}

// ring puts an element into c, unless there is one.
func ring(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Force makes the next run remove the target's rows of objects that are missing from the source, however many there are.
// It lasts until the target has converged, or for five minutes at most. Each object that it removes is logged.
func (l *Loop) Force() {
	l.mu.Lock()
	l.forced = time.Now().Add(forceFor)
	l.mu.Unlock()
}

// Status returns the state of the target.
func (l *Loop) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// Run works until ctx ends and then returns nil, once a write in progress has stopped. It leaves the target as it is and
// does not close the backend. It may be run again.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	for l.wait(ctx) {
		l.pace.begin()
		m := l.round(ctx)
		if ctx.Err() != nil {
			break
		}
		l.pace.end(m, time.Now())
		l.pace.changed = l.changed()
		l.note(func(s *Status) {
			s.NextRetry = time.Time{}
			if m == failed || m == unreachable {
				s.NextRetry = l.pace.ended.Add(l.pace.backoff)
			}
		})
	}
	l.forget()
	return nil
}

// forget ends a run: the next one does not know what was in force.
func (l *Loop) forget() {
	l.reached, l.stale, l.judged = nil, backends.ReadBackStart, false
	l.look(nil)
	l.pace = newPace(&l.opts)
	if l.disturbance != nil {
		l.disturbed(nil)
	}
	if keeper, ok := l.backend.(backends.Keeper); ok {
		l.keep(keeper, nil)
	}
}

func (l *Loop) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return ErrRunning
	}
	l.running = true
	return nil
}

func (l *Loop) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
}

// wait returns true when a round is due, false when ctx has ended.
func (l *Loop) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		var timer <-chan time.Time
		if due, ok := l.pace.due(); ok {
			left := time.Until(due)
			if left <= 0 {
				l.collect()
				return true
			}
			timer = time.After(left)
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
			l.pace.woken = true
		case <-l.release:
			l.pace.released = true
		case _, open := <-l.trigger:
			l.pace.triggered = true
			if !open {
				l.trigger = nil
			}
			l.pace.changed = l.pace.last == converged && l.changed()
		case <-timer:
		}
	}
	return false
}

// changed reports whether someone else changed the target and this has not been repaired.
func (l *Loop) changed() bool { return l.watcher != nil && l.watcher.ChangedByOthers() }

// collect consumes the wakes so far: the round that begins handles them.
func (l *Loop) collect() {
	for _, c := range []<-chan struct{}{l.wake, l.release, l.trigger} {
		select {
		case <-c:
		default:
		}
	}
}

// note changes the status.
func (l *Loop) note(change func(*Status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.status)
}
