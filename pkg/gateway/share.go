package gateway

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// shared are the requests that are served from a cache, which end with the gateway.
type shared struct {
	mu     sync.Mutex
	open   map[*exchange]context.CancelFunc
	ending bool          // end was called
	within time.Duration // what it was called with
}

// share serves the request from the cache of the cluster, and reports whether it could. The cache asks any API server, so
// requests of a policy that selects some of them are not shared.
func (g *Gateway) share(x *exchange) bool {
	if x.tenant.cache == nil || x.route.Subset {
		return false
	}
	ctx, cancel := context.WithCancel(request.WithUser(x.r.Context(), x.effective))
	defer cancel()
	g.shared.add(x, cancel)
	defer g.shared.remove(x)
	x.w.Header().Set(auditHeader, x.auditID)
	served := x.tenant.cache.Serve(x.w, x.r.WithContext(ctx))
	if !served {
		x.w.Header().Del(auditHeader) // the API server's answer has its own
	}
	return served
}

func (s *shared) add(x *exchange, cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*exchange]context.CancelFunc{}
	}
	s.open[x] = cancel
	if s.ending {
		endWithin(s.within, cancel)
	}
}

func (s *shared) remove(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

// end ends every watch, each at a random time within the given duration. Watches that begin later end, too.
func (s *shared) end(within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending, s.within = true, within
	for _, cancel := range s.open {
		endWithin(within, cancel)
	}
}

func endWithin(d time.Duration, end func()) {
	time.AfterFunc(rand.N(d+1), end) //nolint:gosec // it spreads load, and protects nothing
}
