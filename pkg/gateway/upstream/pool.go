package upstream

import (
	"context"
	"slices"
	"sync/atomic"
)

// pool takes endpoints in turn.
type pool struct {
	endpoints []*endpoint
	turn      atomic.Uint64
}

func newPool(endpoints []*endpoint) *pool { return &pool{endpoints: endpoints} }

// pick returns the next endpoint that is ready, other than those of not; nil if there is none.
func (p *pool) pick(not ...*endpoint) *endpoint {
	var buffer [32]*endpoint
	ready := buffer[:0]
	for _, e := range p.endpoints {
		if e.health.ready.Load() && !slices.Contains(not, e) {
			ready = append(ready, e)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return ready[(p.turn.Add(1)-1)%uint64(len(ready))]
}

// Note is filled in with what happens to a request; see WithNote.
type Note struct{ Endpoint string }

type noteKey struct{}

// WithNote has the endpoint that a request is sent to written to n.
func WithNote(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

func note(ctx context.Context, e *endpoint) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		n.Endpoint = e.name
	}
}
