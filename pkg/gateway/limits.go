package gateway

import (
	"context"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/netloom/netloom/pkg/gateway/quota"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// DivideLimits divides the global limits of clusters with the other instances of the gateway, by Leases, until ctx ends; what it has then,
// it keeps. Without it, and while the Leases cannot be used, each instance has the local limits.
func (g *Gateway) DivideLimits(ctx context.Context, leases coordinationv1.LeaseInterface, identity string) {
	quota.New(quota.Options{
		Log: g.opts.Log, Leases: leases, Identity: identity, Limits: g.set.demands,
		Share: func(shares map[string]float64) { g.divides.Store(shares != nil); g.set.share(shares) },
	}).Run(ctx)
}

// divided calls do with all limits that instances divide.
func (s *Set) divided(do func(key string, l *upstream.DividedLimit)) {
	for _, t := range s.all() {
		for _, l := range t.cluster.Divided() {
			do(t.cluster.Name()+"/"+l.Schema.Name, &l)
		}
	}
}

// divides reports whether there are such limits.
func (s *Set) divides() bool {
	found := false
	s.divided(func(string, *upstream.DividedLimit) { found = true })
	return found
}

// demands returns the limits that instances divide, with the demand of this one.
func (s *Set) demands() []quota.Limit {
	var out []quota.Limit
	s.divided(func(key string, l *upstream.DividedLimit) {
		one := quota.Limit{Key: key, Demand: l.Limiter.Demand()}
		if all := l.Schema.GlobalMaxRequestsInflight; all != nil {
			one.Total, one.Most, one.Whole = float64(all.Max), float64(l.Schema.MaxRequestsInflight.Max), true
		} else {
			one.Total, one.Most = float64(l.Schema.GlobalTokenBucket.QPS), float64(l.Schema.TokenBucket.QPS)
		}
		out = append(out, one)
	})
	return out
}

// share sets what this instance has of limits; nil has it alone.
func (s *Set) share(shares map[string]float64) {
	s.divided(func(key string, l *upstream.DividedLimit) {
		share, known := shares[key]
		if !known {
			share = -1
		}
		l.Limiter.Share(share)
	})
}
