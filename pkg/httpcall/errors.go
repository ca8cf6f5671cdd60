package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

var (
	// ErrUnknownOutcome means that a write was sent and no complete answer arrived: it may have been done, or half of it.
	// Read back before writing again.
	ErrUnknownOutcome = errors.New("outcome of the write unknown")
	// ErrNoAnswer means that a request timed out.
	ErrNoAnswer = errors.New("no response in time")
	// ErrTooLarge means that an answer is longer than the client accepts.
	ErrTooLarge = errors.New("response too large")
	// ErrUnexpected means that a successful response is not one to this request.
	ErrUnexpected = errors.New("unexpected response")
	// ErrNotHTTP means that an answer could not be read. It does not quote the answer.
	ErrNotHTTP = errors.New("the response is not HTTP")

	errEnded = errors.New("the connection ended")
)

// StatusError is a response other than success. Its message is the server's, shortened and without secrets.
type StatusError struct {
	Method  string
	Path    string // relative to the address of the API
	Code    int
	Message string
}

// Error names the request and the answer.
func (e *StatusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Code, e.Message), ": ")
}

// IsCode reports whether an error is an answer with a status code.
func IsCode(err error, code int) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == code
}

// dialError is an error of making a connection, before anything was sent or read.
type dialError struct{ err error }

func (e *dialError) Error() string { return "connect: " + e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// Safe makes an error of a connection safe to print. Errors of net/http quote what they could not read; so only errors that are
// known to quote nothing pass.
func Safe(err error) error {
	var (
		dial        *dialError
		operation   *net.OpError
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
		record      tls.RecordHeaderError
		timeout     net.Error
	)
	switch {
	case errors.Is(err, ErrTooLarge):
		return ErrTooLarge
	case errors.Is(err, ErrNotHTTP):
		return ErrNotHTTP
	case errors.As(err, &dial):
		return dial
	case errors.As(err, &lookup):
		return lookup
	case errors.As(err, &certificate):
		return certificate
	case errors.As(err, &alert):
		return alert
	case errors.As(err, &record):
		return record
	case errors.As(err, &operation):
		return operation
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrNoAnswer
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed):
		return errEnded
	default:
		return ErrNotHTTP
	}
}
