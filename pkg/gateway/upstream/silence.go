package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// listen finds out when an API server stops answering, until ctx ends: once nothing has come from it for a third of the time that it may be
// silent, it is asked for a sign of life, which has the rest of that time. One that is busy is not asked.
func (e *endpoint) listen(ctx context.Context) {
	step := e.health.probe.Silence / 3
	timer := time.NewTimer(step)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if quiet := time.Since(e.transport.Received()); quiet < step {
			timer.Reset(step - quiet)
			continue
		}
		timer.Reset(step)
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

// roundTrip sends the request, which has the context of add and fails when the API server turns out to be silent.
func (p *patient) roundTrip(via http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := via.RoundTrip(r)
	switch {
	case err != nil:
		if errors.Is(context.Cause(r.Context()), ErrSilent) {
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
