package transport

import "errors"

// errNoHTTP2 says that the endpoint does not speak HTTP/2.
var errNoHTTP2 = errors.New("the endpoint does not speak HTTP/2")

// errClosed is the error of requests on a closed Transport.
var errClosed = errors.New("the transport is closed")

// errNoStreams is the error of requests that were refused a stream on a new connection.
var errNoStreams = errors.New("the endpoint accepts no request on a new connection")

// unsentError is an error that occurred before any byte of the request was sent.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// Unsent reports whether err, an error of RoundTrip, occurred before any byte of the request reached the endpoint, so that
// sending the request to another endpoint cannot execute it twice. The request's body has not been read.
func Unsent(err error) bool {
	var e *unsentError
	return errors.As(err, &e)
}
