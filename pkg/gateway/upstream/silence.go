package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// listen finds out when an API server stops answering, until ctx ends: it asks for a sign of life each third of the time that it may be
// silent, and waits for the rest.
func (e *endpoint) listen(ctx context.Context) {
	step := e.health.probe.Silence / 3
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !e.health.ready.Load() {
			continue
		}
		began := time.Now()
		answer, done := context.WithTimeout(ctx, 2*step)
		err := e.transport.Ping(answer)
		done()
		// If this process has no processor time, answers wait in it: it learns too late that the time is over, too. It would end the requests
		// to all API servers at once, when it can least do with having them sent again.
		if starved := time.Since(began)-2*step > step/10; starved {
			continue
		}
		if err != nil && ctx.Err() == nil {
			e.health.eject(ErrSilent)
			e.waiting.giveUp()
		}
	}
}

// waiting are the requests in progress at an API server that have an end. Watches and other streams go on if it answers again.
type waiting struct {
	mu   sync.Mutex
	open map[*patient]struct{}
}

// patient is one request.
type patient struct {
	of     *waiting
	cancel context.CancelCauseFunc
}

// add returns a context for a request, which ends with giveUp or leave.
func (w *waiting) add(ctx context.Context) (context.Context, *patient) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patient{of: w, cancel: cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[*patient]struct{}{}
	}
	w.open[p] = struct{}{}
	return ctx, p
}

// leave ends the request.
func (p *patient) leave() {
	p.of.mu.Lock()
	delete(p.of.open, p)
	p.of.mu.Unlock()
	p.cancel(nil)
}

// giveUp fails all requests.
func (w *waiting) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.open {
		p.cancel(ErrSilent)
	}
}

// roundTrip sends a request, which fails when the API server turns out to be silent.
func (w *waiting) roundTrip(via http.RoundTripper, r *http.Request) (*http.Response, error) {
	ctx, p := w.add(r.Context())
	response, err := via.RoundTrip(r.WithContext(ctx))
	switch {
	case err != nil:
		if errors.Is(context.Cause(ctx), ErrSilent) {
			err = ErrSilent
		}
		p.leave()
		return nil, err
	case response.StatusCode == http.StatusSwitchingProtocols: // its body is a connection
		p.of.mu.Lock()
		delete(p.of.open, p)
		p.of.mu.Unlock()
	default:
		response.Body = &patientBody{ReadCloser: response.Body, of: p}
	}
	return response, nil
}

// patientBody is the body of a response that is in progress until it is closed.
type patientBody struct {
	io.ReadCloser
	of *patient
}

// Close closes the body.
func (b *patientBody) Close() error {
	err := b.ReadCloser.Close()
	b.of.leave()
	return err
}
