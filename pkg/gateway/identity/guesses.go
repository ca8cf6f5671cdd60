package identity

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

// One address may have this many unknown tokens reviewed at once, and so many a second. A cluster reviews about 50 a second by
// default: without a limit, a stranger who makes up tokens would leave none for the users of others.
const (
	guessesAtOnce    = 100
	guessesPerSecond = 10
	guessesKept      = 10 * time.Minute // more than it takes until they no longer matter
)

var errGuesses = errors.New("too many unknown tokens from this address")

// guesses counts the unknown tokens of each address. Tokens that a cluster knows do not count, since many users may share an
// address. It is safe for concurrent use.
type guesses struct {
	mu     sync.Mutex // held by note
	limits *cache.LRUExpireCache
}

func newGuesses() *guesses { return &guesses{limits: cache.NewLRUExpireCache(cached)} }

// turn refuses a review if no further token of the connection's address is reviewed for now. An unknown address has no limit.
func (g *guesses) turn(ctx context.Context, _ string) (done func(), err error) {
	if limit, ok := g.limits.Get(sourceOf(ctx)); ok {
		if left, ok := limit.(*rate.Limiter); ok && left.Tokens() < 1 {
			return nil, errGuesses
		}
	}
	return func() {}, nil
}

// note counts an unknown token that came over a connection.
func (g *guesses) note(ctx context.Context) {
	address := sourceOf(ctx)
	if address == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	found, _ := g.limits.Get(address)
	limit, ok := found.(*rate.Limiter)
	if !ok {
		limit = rate.NewLimiter(guessesPerSecond, guessesAtOnce)
	}
	limit.Reserve() // those that were under way together may exceed the limit, and delay the next ones
	g.limits.Add(address, limit, guessesKept)
}

// source is the address that a connection counts for: networks of IPv6 have /64 or more.
func source(remote net.Addr) string {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			ip = network.Addr()
		}
	}
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}
