package sdwan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/netloom/netloom/translator"
)

// How DNS names are looked up.
const (
	lookupTimeout = 5 * time.Second
	lookupsAtOnce = 8
	// firstPause is the pause before the next lookup of a name about which nothing is known yet.
	firstPause = 5 * time.Second
)

// hosts looks up the DNS names that objects contain, again and again, and passes changes on to the translator.
type hosts struct {
	interval time.Duration
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	env      Environment

	wake chan struct{}

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

func newHosts(opts Options, env Environment) *hosts {
	h := &hosts{
		interval: opts.ResolveInterval, resolve: opts.Resolve, env: env,
		wake: make(chan struct{}, 1), tried: map[string]bool{}, known: map[string]*host{},
	}
	if h.resolve == nil {
		h.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return h
}

// Settled reports whether there has been a snapshot since every name was looked up once. Nothing is written to CNFs before:
// it saves them a plan that the next one would extend. A name that cannot be looked up is marked in the snapshot, and CNFs
// keep what they have because of it.
func (h *hosts) Settled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settled
}

// Want sets which names are to be looked up. It never blocks.
func (h *hosts) Want(names []string) {
	h.mu.Lock()
	if h.settled = h.settled || !slices.ContainsFunc(names, func(name string) bool { return !h.tried[name] }); h.settled {
		clear(h.tried) // it is not needed any more
	}
	same := slices.Equal(h.wanted, names)
	h.wanted = slices.Clone(names)
	h.mu.Unlock()
	if same {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (h *hosts) Run(ctx context.Context) error {
	for {
		next := h.lookUpDue(ctx)
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		case <-timer:
		}
	}
}

// lookUpDue looks up the names that are due, and returns when the next one is; zero means never.
func (h *hosts) lookUpDue(ctx context.Context) time.Time {
	h.mu.Lock()
	wanted := h.wanted
	h.mu.Unlock()
	for name := range h.known {
		if !slices.Contains(wanted, name) {
			delete(h.known, name)
		}
	}
	now := time.Now()
	var work sync.WaitGroup
	slots := make(chan struct{}, lookupsAtOnce)
	for _, name := range wanted {
		one := h.known[name]
		if one == nil {
			one = &host{}
			h.known[name] = one
		}
		if one.due.After(now) {
			continue
		}
		one.due = now.Add(h.interval)
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			h.lookUp(ctx, name, one)
		})
	}
	work.Wait()
	var next time.Time
	for _, one := range h.known {
		if next.IsZero() || one.due.Before(next) {
			next = one.due
		}
	}
	return next
}

// lookUp looks up one name. If DNS does not answer, its last answer is kept.
func (h *hosts) lookUp(ctx context.Context, name string, one *host) {
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := h.resolve(within, name)
	if ctx.Err() != nil {
		return
	}
	var absent *net.DNSError
	switch {
	case err == nil:
		h.env.Metrics.LookedUp("found")
	case errors.As(err, &absent) && absent.IsNotFound:
		h.env.Metrics.LookedUp("absent")
		addrs = nil
	default:
		h.env.Metrics.LookedUp("failed")
		h.env.Log.WithError(err).WithField("host", name).Debug("cannot look up a DNS name")
		h.noteFailure(name, one)
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
	h.env.Pipeline.Do(func(t *translator.Translator) {
		h.noteTried(name)
		t.SetHost(name, addrs)
	})
}

// noteFailure schedules another lookup soon for a name that never had an answer.
func (h *hosts) noteFailure(name string, one *host) {
	if one.answered {
		return
	}
	one.due = time.Now().Add(min(firstPause, h.interval))
	if !one.failed {
		one.failed = true
		h.env.Pipeline.Do(func(*translator.Translator) { h.noteTried(name) })
	}
}

// noteTried records that a name has been looked up and that the next snapshot includes the result.
func (h *hosts) noteTried(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.settled {
		h.tried[name] = true
	}
}
