package openwrt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

var (
	// ErrUnauthorized means that the device refused the password, or a session that it had just created.
	ErrUnauthorized = errors.New("the device rejects the login")
	// ErrUnknownOutcome means that a write was sent and no complete answer arrived: it may have been done, or half of it.
	// Read back before writing again.
	ErrUnknownOutcome = errors.New("outcome of the write unknown")
	// ErrNoAnswer means that a request timed out.
	ErrNoAnswer = errors.New("no response in time")
	// ErrTooLarge means that an answer is longer than the client accepts.
	ErrTooLarge = errors.New("response too large")
	// ErrUnexpected means that an answer of success is not what the request asks for.
	ErrUnexpected = errors.New("unexpected response")

	errEnded   = errors.New("the connection ended")
	errNotHTTP = errors.New("the response is not HTTP") // does not quote the answer: it may contain keys
)

// StatusError is an answer other than success. Its message is the device's, shortened and without secrets.
type StatusError struct {
	Method  string
	Path    string // relative to the address of LuCI
	Code    int
	Message string
}

// Error names the request and the answer of the device.
func (e *StatusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Code, e.Message), ": ")
}

// LossError means that the device reported success but did not store all of an object.
type LossError struct {
	Kind   Kind
	Name   string
	Fields []string // those that differ, as Diff names them; none if the object does not exist at all
}

// Error formats e.
func (e *LossError) Error() string {
	if len(e.Fields) == 0 {
		return fmt.Sprintf("%s %s: the device accepted it but did not store it", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %s: the device did not store %s", e.Kind, e.Name, strings.Join(e.Fields, ", "))
}

// IsLoss reports whether the device accepted an object and did not store all of it.
func IsLoss(err error) bool {
	var e *LossError
	return errors.As(err, &e)
}

// IsNotFound reports whether the object does not exist.
func IsNotFound(err error) bool { return isCode(err, 404) }

// IsConflict reports whether another object has the name.
func IsConflict(err error) bool { return isCode(err, 409) }

// IsFault reports whether a script of the device aborted. Half of a write may have been done.
func IsFault(err error) bool { return isCode(err, 500) }

// IsDependencyMissing reports whether an object was refused because it refers to something that does not exist: a matter
// of order, not an error of the object. The device answers 428 or, for zones, policies, and proposals of connections,
// 400.
func IsDependencyMissing(err error) bool {
	var e *StatusError
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == 428 || e.Code == 400 && strings.Contains(e.Message, notDefined)
}

// IsInUse reports whether an object was not deleted because others refer to it: a matter of order.
func IsInUse(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == 400 && e.Method == http.MethodDelete && strings.HasSuffix(e.Message, " is used")
}

// IsRefused reports whether the device refused a request for its content, so that a retry does not help: none of the
// other predicates applies.
func IsRefused(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code >= 400 && e.Code < 500 && !IsNotFound(err) && !IsConflict(err) &&
		!IsDependencyMissing(err) && !IsInUse(err)
}

// notDefined is the device's message for something that does not exist.
const notDefined = "] is not definied"

// Missing is what an object refers to that does not exist, such as Zone and its name; ok is false if the device did not
// report it.
func Missing(err error) (what, name string, ok bool) {
	var e *StatusError
	if !errors.As(err, &e) {
		return "", "", false
	}
	before, _, found := strings.Cut(e.Message, notDefined)
	open := strings.LastIndex(before, "[")
	if !found || open < 0 {
		return "", "", false
	}
	what = before[:open]
	what = what[strings.LastIndexAny(what, "[ :")+1:]
	return what, before[open+1:], what != ""
}

func isCode(err error, code int) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == code
}

// dialError is an error of making a connection, before anything was sent or read.
type dialError struct{ err error }

func (e *dialError) Error() string { return "connect: " + e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// transportError makes a connection error safe to print. Errors of net/http quote what they could not read, and a device
// prints keys there; so only errors that are known to quote nothing pass.
func transportError(err error) error {
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
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, ErrTooLarge):
		return ErrTooLarge
	case errors.As(err, &dial):
		return dial
	case errors.As(err, &lookup):
		return lookup
	case errors.As(err, &operation):
		return operation
	case errors.As(err, &certificate):
		return certificate
	case errors.As(err, &alert):
		return alert
	case errors.As(err, &record):
		return record
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrNoAnswer
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed):
		return errEnded
	default:
		return errNotHTTP
	}
}
