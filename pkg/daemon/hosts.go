package daemon

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/translator"
)

// How DNS is asked.
const (
	lookupTimeout = 5 * time.Second
	lookupsAtOnce = 8
	// A name of which nothing is known yet is asked for again so soon.
	firstPause = 5 * time.Second
)

// hosts finds the addresses of the DNS names that the translator wants to know, over and over, and tells it of changes.
type hosts struct {
	interval time.Duration
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	do       func(func(*translator.Translator))
	metrics  *metrics.Metrics
	log      logrus.FieldLogger

	wake chan struct{}

	mu      sync.Mutex
	wanted  []string
	asked   map[string]bool // DNS has answered, and the translator knows; or it has failed to
	settled bool            // all names that were wanted at once have been asked for

	// Only Run's goroutine touches these.
	known map[string]*host
}

// host is what DNS said of a name last.
type host struct {
	addrs []netip.Addr
	told  bool // the translator knows addrs
	tried bool // DNS has failed to answer
	due   time.Time
}

func newHosts(opts SDWAN, do func(func(*translator.Translator)), m *metrics.Metrics, log logrus.FieldLogger) *hosts {
	h := &hosts{
		interval: opts.ResolveInterval, resolve: opts.Resolve, do: do, metrics: m, log: log,
		wake: make(chan struct{}, 1), asked: map[string]bool{}, known: map[string]*host{},
	}
	if h.resolve == nil {
		h.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return h
}

// Settled says whether a snapshot has been made since DNS was asked for every name once. Before that CNFs are not asked
// for anything: they are spared a plan that the next one would add to. Of a name that DNS does not answer for, the snapshot
// says so, and CNFs keep what they may hold of it.
func (h *hosts) Settled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settled
}

// Want says which names are wanted from now on. It never blocks.
func (h *hosts) Want(names []string) {
	h.mu.Lock()
	if h.settled = h.settled || !slices.ContainsFunc(names, func(name string) bool { return !h.asked[name] }); h.settled {
		clear(h.asked) // nobody looks again
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
		next := h.look(ctx)
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

// look looks up the names that are due, and says when the next one is; zero is never.
func (h *hosts) look(ctx context.Context) time.Time {
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
	turns := make(chan struct{}, lookupsAtOnce)
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
			turns <- struct{}{}
			defer func() { <-turns }()
			h.ask(ctx, name, one)
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

// ask looks one name up. Where DNS does not answer, what it said before stands.
func (h *hosts) ask(ctx context.Context, name string, one *host) {
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := h.resolve(within, name)
	if ctx.Err() != nil {
		return
	}
	var absent *net.DNSError
	switch {
	case err == nil:
		h.metrics.LookedUp("found")
	case errors.As(err, &absent) && absent.IsNotFound:
		h.metrics.LookedUp("absent")
		addrs = nil
	default:
		h.metrics.LookedUp("failed")
		h.log.WithError(err).WithField("host", name).Debug("DNS name cannot be looked up")
		if one.told {
			return
		}
		one.due = time.Now().Add(min(firstPause, h.interval))
		if !one.tried {
			one.tried = true
			h.do(func(*translator.Translator) { h.mark(name) })
		}
		return
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap().WithZone("")
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	if one.told && slices.Equal(one.addrs, addrs) {
		return
	}
	one.addrs, one.told = addrs, true
	h.do(func(t *translator.Translator) {
		h.mark(name)
		t.SetHost(name, addrs)
	})
}

// mark notes that a name has been asked for.
func (h *hosts) mark(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.settled {
		h.asked[name] = true
	}
}
