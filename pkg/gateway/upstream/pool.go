package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// pool takes endpoints in turn.
type pool struct {
	endpoints []*endpoint
	turn      atomic.Uint64
}

func newPool(endpoints []*endpoint) *pool { return &pool{endpoints: endpoints} }

// pick returns the next endpoint that is ready, other than not; nil if there is none.
func (p *pool) pick(not *endpoint) *endpoint {
	var buffer [32]*endpoint
	ready := buffer[:0]
	for _, e := range p.endpoints {
		if e != not && e.health.ready.Load() {
			ready = append(ready, e)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return ready[(p.turn.Add(1)-1)%uint64(len(ready))]
}

// send sends a request to an endpoint. If there was no connection that it could be sent on, another endpoint is tried once.
func (p *pool) send(r *http.Request, count func(Event)) (*http.Response, error) {
	e := p.pick(nil)
	if e == nil {
		closeBody(r)
		return nil, ErrNoEndpoint
	}
	var sent atomic.Bool
	body := newHeldBody(r.Body)
	try := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	}))
	if body != nil {
		try.Body = body
	}
	note(r.Context(), e)
	response, err := e.roundTrip(try)
	if err == nil || sent.Load() || r.Context().Err() != nil {
		body.release()
		return response, err
	}
	if e.health.eject(err) {
		count(EventEjected)
	}
	other := p.pick(e)
	if other == nil {
		body.release()
		closeBody(r)
		return nil, err
	}
	count(EventRetry)
	note(r.Context(), other)
	return other.roundTrip(r)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// heldBody is a request body that stays open until release, since another attempt may need it.
type heldBody struct {
	io.ReadCloser

	mu             sync.Mutex
	held, closable bool
}

// newHeldBody returns nil for a request without a body.
func newHeldBody(body io.ReadCloser) *heldBody {
	if body == nil || body == http.NoBody {
		return nil
	}
	return &heldBody{ReadCloser: body, held: true}
}

// Close closes the body, or has release do it.
func (b *heldBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		b.closable = true
		return nil
	}
	return b.ReadCloser.Close()
}

// release lets Close close the body.
func (b *heldBody) release() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	if b.closable {
		_ = b.ReadCloser.Close()
	}
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
