package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/netloom/netloom/pkg/gateway/transport"
)

// A request that API servers do not process is sent up to so many times. Every attempt needs the word of an API server, or of HTTP/2,
// that the one before was not processed.
const attempts = 10

// The pause before a request is sent to the same API server for the third time; it doubles each time.
const firstPause = 5 * time.Millisecond

// NotProcessed reports whether it is certain that no API server has executed a request that failed with err, or will: sending it
// again cannot execute it twice.
func NotProcessed(err error) bool {
	var e *transport.NotProcessedError
	return errors.As(err, &e) || errors.Is(err, ErrNoEndpoint)
}

// sending is a request that is being sent.
type sending struct {
	*pool
	request *http.Request
	held    *heldBody // the body of request; nil if it has none
	next    *http.Request
	count   func(Event)
}

// send sends a request to an endpoint that is ready. If it is certain that the endpoint has not processed the request, another one
// is tried, or the same one again if there is no other; whatever the method is.
func (p *pool) send(r *http.Request, count func(Event)) (*http.Response, error) {
	s := &sending{pool: p, request: r, held: newHeldBody(r.Body), next: r, count: count}
	if s.held != nil {
		s.next = r.WithContext(r.Context())
		s.next.Body = s.held
	}
	e := p.pick()
	if e == nil {
		closeBody(r)
		return nil, ErrNoEndpoint
	}
	response, err := s.run(e)
	if err != nil {
		closeBody(r)
	}
	s.held.release()
	return response, err
}

// run sends the request until it is processed.
func (s *sending) run(e *endpoint) (*http.Response, error) {
	var tried []*endpoint
	for n := 1; ; n++ {
		note(s.request.Context(), e)
		response, err := e.roundTrip(s.next)
		if err == nil {
			other := s.instead(e, response)
			if other == nil || n == attempts {
				return response, nil
			}
			_ = response.Body.Close() // it was read
			e = other
			continue
		}
		if s.request.Context().Err() != nil {
			return nil, err
		}
		tried = append(tried, e)
		var failed error
		if e, failed = s.after(err, tried); e == nil {
			return nil, failed
		}
		if n == attempts || !s.rewind() || !s.pause(n-len(s.endpoints)) {
			return nil, err
		}
		s.count(EventRetry)
	}
}

// isSafe reports whether a request changes nothing, so that it may be executed twice: RFC 9110, section 9.2.1. Streams are left out:
// exec is a GET, and clients open watches again.
func isSafe(r *http.Request) bool {
	return !isStream(r.Context()) && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions)
}

// instead returns an endpoint for a request that another one turned away because it is shutting down; nil if its response is the answer.
func (s *sending) instead(of *endpoint, response *http.Response) *endpoint {
	if !isShuttingDown(response) {
		return nil
	}
	if of.health.eject(errShuttingDown) {
		s.count(EventEjected)
	}
	e := s.pick(of)
	if e == nil || !s.rewind() {
		return nil
	}
	s.count(EventRetry)
	return e
}

// after returns an endpoint to try after the last one of those that were tried failed, or nil and why the request fails.
func (s *sending) after(err error, tried []*endpoint) (*endpoint, error) {
	var not *transport.NotProcessedError
	if !errors.As(err, &not) {
		if !isSafe(s.request) {
			return nil, err
		}
		return s.pick(tried...), err
	}
	if !not.Connected && tried[len(tried)-1].health.eject(err) {
		s.count(EventEjected)
	}
	return s.other(tried), fmt.Errorf("%w: %w", ErrNoEndpoint, err)
}

// other is an endpoint that is ready: one that was not tried, if there is one.
func (s *sending) other(tried []*endpoint) *endpoint {
	if e := s.pick(tried...); e != nil {
		return e
	}
	return s.pick()
}

// rewind makes the request ready to be sent again, if its body is there from the beginning.
func (s *sending) rewind() bool {
	if s.held == nil || s.held.whole() {
		return true
	}
	if s.request.GetBody == nil {
		return false
	}
	body, err := s.request.GetBody()
	if err != nil {
		return false
	}
	s.next = s.request.WithContext(s.request.Context())
	s.next.Body = body
	return true
}

// pause waits before the request is sent again, for longer each time: that every endpoint was asked so many times more than once. It
// reports whether the client still waits.
func (s *sending) pause(again int) bool {
	if again <= 0 {
		return true
	}
	timer := time.NewTimer(firstPause << min(again-1, attempts))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.request.Context().Done():
		return false
	}
}
