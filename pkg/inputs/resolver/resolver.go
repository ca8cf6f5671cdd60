package resolver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/translator"
)

// How DNS names are looked up.
const (
	DefaultInterval = 30 * time.Second

	lookupTimeout = 5 * time.Second
	lookupsAtOnce = 8
	// firstPause is the pause before the next lookup of a name about which nothing is known yet.
	firstPause = 5 * time.Second
	// patience is how long Settled waits for names that DNS does not answer.
	patience = 10 * time.Second
)

// Options are how names are looked up.
type Options struct {
	Interval time.Duration // between two lookups of a name; 0 means the default
	// LookUp finds the addresses of a DNS name, as net.Resolver.LookupNetIP does; nil asks the system.
	LookUp func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Pipeline is what makes snapshots of the answers.
type Pipeline interface {
	// Do arranges for f to be called with the translator, and for a snapshot of the result. It does not wait for that.
	Do(f func(*translator.Translator))
}

// Metrics counts lookups.
type Metrics interface{ LookedUp(result string) }

// Resolver looks up the DNS names that objects contain, again and again, and passes changes on to the translator.
type Resolver struct {
	interval time.Duration
	lookup   func(ctx context.Context, name string) ([]netip.Addr, error)
	pipeline Pipeline
	metrics  Metrics
	log      logrus.FieldLogger

	wake  chan struct{}
	begun chan struct{} // closed when names are wanted for the first time
	begin sync.Once

	mu      sync.Mutex
	wanted  []string
	tried   map[string]bool // DNS has answered and the translator knows, or the lookup has failed
	settled bool            // all names that were wanted at one time have been tried

	// Only the goroutine of Run uses these.
	known map[string]*host
}

// host is the last answer for a name.
type host struct {
	addrs    []netip.Addr
	answered bool // the translator knows addrs
	failed   bool // a lookup has failed
	due      time.Time
}

// New makes a resolver. Want has to be called for each snapshot, and Run to do its work.
func New(opts Options, pipeline Pipeline, metrics Metrics, log logrus.FieldLogger) *Resolver {
	r := &Resolver{
		interval: cmp.Or(opts.Interval, DefaultInterval), lookup: opts.LookUp, pipeline: pipeline, metrics: metrics, log: log,
		wake: make(chan struct{}, 1), begun: make(chan struct{}), tried: map[string]bool{}, known: map[string]*host{},
	}
	if r.lookup == nil {
		r.lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	return r
}

// Settled reports whether there has been a snapshot since every name was looked up once, or since that took too long. Nothing is
// written to targets before: after a restart, they keep the addresses that they have until DNS answers.
func (r *Resolver) Settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settled
}

// Want sets which names are to be looked up, in order. It never blocks.
func (r *Resolver) Want(names []string) {
	r.mu.Lock()
	if r.settled = r.settled || !slices.ContainsFunc(names, func(name string) bool { return !r.tried[name] }); r.settled {
		clear(r.tried) // it is not needed any more
	}
	same := slices.Equal(r.wanted, names)
	if len(r.wanted) == 0 && len(names) > 0 && !r.settled {
		r.begin.Do(func() { close(r.begun) })
	}
	r.wanted = slices.Clone(names)
	r.mu.Unlock()
	if same {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (r *Resolver) Run(ctx context.Context) error {
	var limit sync.WaitGroup
	defer limit.Wait()
	limit.Go(func() { r.limitWait(ctx) })
	for {
		next := r.lookUpDue(ctx)
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-timer:
		}
	}
}

// limitWait has names without an answer count as tried, some time after the first were wanted.
func (r *Resolver) limitWait(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.begun:
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		r.pipeline.Do(func(*translator.Translator) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.settled = true
		})
	}
}

// lookUpDue looks up the names that are due, and returns when the next one is; zero means never.
func (r *Resolver) lookUpDue(ctx context.Context) time.Time {
	r.mu.Lock()
	wanted := r.wanted
	r.mu.Unlock()
	for name := range r.known {
		if _, stays := slices.BinarySearch(wanted, name); !stays {
			delete(r.known, name)
		}
	}
	now := time.Now()
	var work sync.WaitGroup
	slots := make(chan struct{}, lookupsAtOnce)
	for _, name := range wanted {
		one := r.known[name]
		if one == nil {
			one = &host{}
			r.known[name] = one
		}
		if one.due.After(now) {
			continue
		}
		one.due = now.Add(r.interval)
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			r.lookUp(ctx, name, one)
		})
	}
	work.Wait()
	var next time.Time
	for _, one := range r.known {
		if next.IsZero() || one.due.Before(next) {
			next = one.due
		}
	}
	return next
}

// lookUp looks up one name. If DNS does not answer, its last answer is kept.
func (r *Resolver) lookUp(ctx context.Context, name string, one *host) {
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := r.lookup(within, name)
	if ctx.Err() != nil {
		return
	}
	var absent *net.DNSError
	switch {
	case err == nil:
		r.metrics.LookedUp("found")
	case errors.As(err, &absent) && absent.IsNotFound:
		r.metrics.LookedUp("absent")
		addrs = nil
	default:
		r.metrics.LookedUp("failed")
		r.log.WithError(err).WithField("host", name).Debug("cannot look up a DNS name")
		r.noteFailure(name, one)
		return
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap().WithZone("")
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	if one.answered && slices.Equal(one.addrs, addrs) {
		return
	}
	one.addrs, one.answered = addrs, true
	r.pipeline.Do(func(t *translator.Translator) {
		r.noteTried(name)
		t.SetHost(name, addrs)
	})
}

// noteFailure schedules another lookup soon for a name that never had an answer.
func (r *Resolver) noteFailure(name string, one *host) {
	if one.answered {
		return
	}
	one.due = time.Now().Add(min(firstPause, r.interval))
	if !one.failed {
		one.failed = true
		r.pipeline.Do(func(*translator.Translator) { r.noteTried(name) })
	}
}

// noteTried records that a name has been looked up and that the next snapshot includes the result.
func (r *Resolver) noteTried(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.settled {
		r.tried[name] = true
	}
}
