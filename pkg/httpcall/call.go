package httpcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// Dial opens a connection, like net.Dialer.DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Marked is dial with errors that Do recognises: nothing was sent. Nil is the network.
func (dial Dial) Marked() Dial {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if err != nil {
			return nil, &dialError{err}
		}
		return nc, nil
	}
}

// Do sends req once by exchange, whose connections come from a Marked dial. Its error is Safe, or the cause of the end of req's
// context. If req writes and may have reached the server, it is ErrUnknownOutcome as well.
func Do[T any](req *http.Request, writes bool, exchange func(*http.Request) (T, error)) (T, error) {
	var none T
	var connected atomic.Bool
	ctx := req.Context()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	answer, err := exchange(req.WithContext(traced))
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = Safe(err)
	}
	// If a new connection was needed after all, nothing was sent on the old one.
	if writes && connected.Load() && !errors.As(err, new(*dialError)) {
		return none, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return none, err
}

// Answer is a complete answer.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Exchange sends req and reads the answer, whose body is at most limit bytes.
func Exchange(transport http.RoundTripper, req *http.Request, limit int64) (Answer, error) {
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && int64(len(body)) > limit {
		err = ErrTooLarge
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Code: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// Turns limits how many requests are sent at once.
type Turns chan struct{}

// NewTurns allows n requests at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// Wait takes a turn and returns what gives it back. Its error is the cause of the end of ctx.
func (t Turns) Wait(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
