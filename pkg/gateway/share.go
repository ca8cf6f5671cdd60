package gateway

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// shared are the requests that are served from a cache, which end with the gateway.
type shared struct {
	mu     sync.Mutex
	ending map[*exchange]context.CancelFunc
}

// share serves the request from the cache of the cluster, and reports whether it could. The cache asks any API server, so
// requests of a policy that selects some of them are not shared.
func (g *Gateway) share(x *exchange) bool {
	if x.tenant.cache == nil || x.route.Subset {
		return false
	}
	ctx, cancel := context.WithCancel(x.r.Context())
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
	if s.ending == nil {
		s.ending = map[*exchange]context.CancelFunc{}
	}
	s.ending[x] = cancel
}

func (s *shared) remove(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ending, x)
}

// end ends every watch that is served now, each at a random time within the given duration.
func (s *shared) end(within time.Duration) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.ending))
	s.mu.Unlock()
	for _, cancel := range all {
		time.AfterFunc(rand.N(within+1), cancel) //nolint:gosec // it spreads load, and protects nothing
	}
}
