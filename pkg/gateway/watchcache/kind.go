package watchcache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/inputs/confirm"
)

// kind keeps the history of one resource in step with the upstream, from its first request on.
type kind struct {
	Resource
	*history
	upstream upstream
	stale    time.Duration // how long the upstream watch may be interrupted
	log      logrus.FieldLogger
	start    sync.Once

	lost    atomic.Pointer[time.Time] // since when the upstream watch is interrupted
	watched atomic.Uint64             // upstream watches, those of rounds included

	proof     *confirm.Kind
	heldSince atomic.Pointer[time.Time] // when the history began for the first time

	form atomic.Pointer[form] // of bookmarks

	group   *sync.WaitGroup // of everything that k starts
	problem string          // of the last attempt, as logged

	mu       sync.Mutex
	next     *round // the round that requests of now wait for
	running  bool
	closed   bool
	endWatch context.CancelCauseFunc // of the upstream watch; nil if there is none
}

// run follows the upstream until ctx ends.
func (k *kind) run(ctx context.Context) {
	const least, most, unlisted = 100 * time.Millisecond, 5 * time.Second, 30 * time.Second
	pause := least
	for {
		began := time.Now()
		err := k.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errExpired) {
			k.reset()
		}
		k.report(err)
		if k.interrupted() > k.stale {
			k.end()
		}
		if time.Since(began) > most {
			pause = least
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // it spreads load
		case <-ctx.Done():
			return
		}
		if _, _, synced := k.now(); synced {
			pause = min(2*pause, most)
		} else {
			pause = min(2*pause, unlisted) // the API may not have the kind
		}
	}
}

// report logs why the upstream cannot be followed, once.
func (k *kind) report(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	log := k.log.WithError(err).WithField("resource", k.GroupResource().String())
	if _, _, synced := k.now(); problem != k.problem && err != nil && synced {
		log.Warn("shared watch interrupted")
	} else if problem != k.problem && err != nil {
		log.Info("watches of a kind cannot be shared") // the API may not have it
	}
	k.problem = problem
}

// step lists the kind if there is no history, and follows it until the upstream ends the watch.
func (k *kind) step(ctx context.Context) error {
	if _, _, synced := k.now(); !synced {
		objects, version, err := k.upstream.list(ctx)
		if err != nil {
			k.fail()
			return err
		}
		k.replace(objects, version)
		if now := time.Now(); k.heldSince.CompareAndSwap(nil, &now) {
			k.group.Go(func() { k.proof.Run(ctx, k) })
		}
	} else if err := k.checkOrder(ctx); err != nil {
		k.interrupt()
		return err
	}
	_, version, _ := k.now()
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	k.mu.Lock()
	k.endWatch = end
	k.mu.Unlock()
	err := k.upstream.watch(watching, version, 5*time.Minute+rand.N(5*time.Minute), k.deliver(version)) //nolint:gosec // it spreads load
	if cause := context.Cause(watching); errors.Is(cause, errExpired) {
		err = cause // and not what the watch met with when it was ended
	}
	k.interrupt()
	return err
}

// checkOrder makes sure that the upstream has not gone back in time, as it does when etcd is restored from a backup. A watch
// would then be silent until its versions have caught up.
func (k *kind) checkOrder(ctx context.Context) error {
	_, known, _ := k.now()
	current, err := k.upstream.current(ctx)
	if err == nil && current < known {
		err = fmt.Errorf("%s: %w: the upstream is at %d, after %d", k.Resource.Resource, errExpired, current, known)
	}
	return err
}

// deliver returns the handler of a watch that began at a version.
func (k *kind) deliver(version uint64) handler {
	inOrder := func(v uint64) error {
		if v < version {
			return fmt.Errorf("%s: %w: version %d follows %d", k.Resource.Resource, errExpired, v, version)
		}
		version = v
		return nil
	}
	return handler{
		connected: func() { k.watched.Add(1); k.lost.Store(nil) },
		event: func(kind string, o *object) error {
			if err := inOrder(o.version); err != nil {
				return err
			}
			if kind == "DELETED" {
				k.remove(o)
			} else {
				k.put(o)
			}
			return nil
		},
		bookmark: func(v uint64, object []byte) error {
			err := inOrder(v)
			if err == nil {
				k.learn(object)
				k.progress(v)
			}
			return err
		},
	}
}

// learn takes over the form of the upstream's bookmarks.
func (k *kind) learn(object []byte) {
	if f, err := newForm(object); err == nil { // its version has been read, so there is no error
		k.form.Store(f)
	}
}

func (k *kind) interrupt() {
	now := time.Now()
	k.lost.CompareAndSwap(nil, &now)
}

// interrupted returns for how long the upstream watch has been interrupted.
func (k *kind) interrupted() time.Duration {
	if since := k.lost.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// ready waits until the history can answer, and reports whether it can. A large cluster takes some time to list; if its clients
// were left to the upstream meanwhile, all of them would list it.
func (k *kind) ready(ctx context.Context) bool {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := k.wait(ctx, func() bool { return k.synced || k.failed })
	_, _, synced := k.now()
	return err == nil && synced && k.interrupted() <= k.stale
}

// round is one attempt to catch up with the upstream's current version, on behalf of all who asked before it began.
type round struct {
	done chan struct{}
	err  error
}

// errBehind says that the history could not catch up in time.
var errBehind = errors.New("the shared watch is behind")

// fresh returns when the history is at least as new as the upstream was when fresh was called. ctx is the request's; life
// ends with the cache.
func (k *kind) fresh(ctx, life context.Context) error {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return errBehind
	}
	if k.next == nil {
		k.next = &round{done: make(chan struct{})}
	}
	r := k.next
	if !k.running {
		k.running = true
		k.group.Go(func() { k.rounds(life) })
	}
	k.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close lets no further round begin.
func (k *kind) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

// atLeast returns when the history has reached a version.
func (k *kind) atLeast(ctx, life context.Context, version uint64) error {
	if _, now, _ := k.now(); now >= version {
		return nil
	}
	if err := k.fresh(ctx, life); err != nil {
		return err
	}
	if _, now, _ := k.now(); now < version {
		return errBehind // or nobody has that version
	}
	return nil
}

// rounds runs rounds while someone waits for one.
func (k *kind) rounds(ctx context.Context) {
	for {
		k.mu.Lock()
		r := k.next
		k.next = nil
		k.running = r != nil
		k.mu.Unlock()
		if r == nil {
			return
		}
		r.err = k.catchUp(ctx)
		close(r.done)
	}
}

// catchUp asks for the current version and waits for the history to reach it. If there is no event by then, only a bookmark
// can show that there was none; an API server sends one each minute, and one two seconds before the time limit of a
// watch. So a short watch from where the history is gets there within about a second.
func (k *kind) catchUp(ctx context.Context) error {
	const margin = time.Second
	want, err := k.upstream.current(ctx)
	if err != nil {
		return err
	}
	_, version, synced := k.now()
	if !synced {
		return errBehind
	}
	if version >= want {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		defer cancel()
		h := k.deliver(version)
		h.connected = func() { k.watched.Add(1) }
		if err := k.upstream.watch(ctx, version, bookmarkBeforeEnd+margin, h); err != nil && ctx.Err() == nil {
			k.log.WithError(err).WithField("resource", k.GroupResource().String()).Warn("catching up failed")
		}
	}()
	err = k.wait(ctx, func() bool { return k.version >= want || !k.synced })
	cancel()
	<-followed
	if _, version, synced = k.now(); synced && version >= want {
		return nil
	}
	return errors.Join(errBehind, err)
}
