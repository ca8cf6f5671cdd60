package transport

import (
	"errors"

	"golang.org/x/net/http2"
)

// errNoHTTP2 says that the endpoint does not speak HTTP/2.
var errNoHTTP2 = errors.New("the endpoint does not speak HTTP/2")

// errClosed is the error of requests on a closed Transport.
var errClosed = errors.New("the transport is closed")

// errNoStreams is the error of requests that were refused a stream on a new connection.
var errNoStreams = errors.New("the endpoint accepts no request on a new connection")

// NotProcessedError is an error of RoundTrip after which it is certain that the endpoint has not executed the request, and will
// not: sending it again cannot execute it twice, whatever its method is. Any other error leaves that open.
type NotProcessedError struct {
	Err error
	// Connected is false if there was no connection to send the request on; then the request's body has not been read. It is true if
	// HTTP/2 says that the endpoint did not process the request, although part of it, or all of it, may have been sent.
	Connected bool
}

// Error is the error without what is known about the request.
func (e *NotProcessedError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *NotProcessedError) Unwrap() error { return e.Err }

// notConnected is an error that occurred before there was a connection.
func notConnected(err error) error { return &NotProcessedError{Err: err} }

// Errors of golang.org/x/net/http2 after which a request was not processed. The library exports no values for them.
const (
	// The endpoint sent GOAWAY with a last stream ID below that of the request: RFC 9113, section 6.8.
	textGoAway = "http2: Transport received Server's graceful shutdown GOAWAY"
	// The connection ended before the request got a stream on it.
	textUnusable       = "http2: client conn not usable"
	textNotEstablished = "http2: client conn could not be established"
)

// isUnprocessed reports whether an error of a request on an HTTP/2 connection says that the endpoint did not process the request. A
// stream that was reset with REFUSED_STREAM was not (RFC 9113, section 8.7). One that was reset with another code may have been, and
// so may one that a connection took with it when it ended.
func isUnprocessed(err error) bool {
	var reset http2.StreamError
	if errors.As(err, &reset) {
		return reset.Code == http2.ErrCodeRefusedStream
	}
	switch err.Error() {
	case textGoAway, textUnusable, textNotEstablished:
		return true
	}
	return false
}
