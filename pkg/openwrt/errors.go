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
	// ErrUnauthorized says that the device refused the password, or a session that it had just given.
	ErrUnauthorized = errors.New("the device rejects the login")
	// ErrUnknownOutcome says that a write was sent and no whole answer came: it may have been done, or half of it. Read
	// back before writing again.
	ErrUnknownOutcome = errors.New("outcome of the write unknown")
	// ErrNoAnswer says that a request took longer than the client waits.
	ErrNoAnswer = errors.New("no response in time")
	// ErrTooLarge says that an answer is longer than the client takes.
	ErrTooLarge = errors.New("response too large")

	errEnded   = errors.New("the connection ended")
	errNotHTTP = errors.New("the response is not HTTP") // says nothing of the answer: there may be keys in it
	errNotJSON = errors.New("unexpected response")
)

// StatusError is an answer other than success. Its message is the device's, shortened and without secrets.
type StatusError struct {
	Method  string
	Path    string // relative to the address of LuCI
	Code    int
	Message string
}

// Error says what was asked and what the device said.
func (e *StatusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Code, e.Message), ": ")
}

// LossError says that the device answered with success and did not keep all that it was given.
type LossError struct {
	Kind   Kind
	Name   string
	Fields []string // those that differ, as Diff names them; none when the object is not there at all
}

// Error spells e.
func (e *LossError) Error() string {
	if len(e.Fields) == 0 {
		return fmt.Sprintf("%s %s: the device accepted it but did not store it", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %s: the device did not store %s", e.Kind, e.Name, strings.Join(e.Fields, ", "))
}

// IsLoss says whether the device took an object and did not keep it as it was.
func IsLoss(err error) bool {
	var e *LossError
	return errors.As(err, &e)
}

// IsNotFound says whether the object is not there.
func IsNotFound(err error) bool { return isCode(err, 404) }

// IsConflict says whether another object has the name.
func IsConflict(err error) bool { return isCode(err, 409) }

// IsFault says whether a script of the device broke off. Half of a write may have been done.
func IsFault(err error) bool { return isCode(err, 500) }

// IsDependencyMissing says whether an object was refused because it refers to something that is not there: a matter of
// order, not of the object. The device says so with 428 or, for zones, policies, and proposals of connections, with 400.
func IsDependencyMissing(err error) bool {
	var e *StatusError
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == 428 || e.Code == 400 && strings.Contains(e.Message, notDefined)
}

// IsInUse says whether an object was not deleted because others refer to it: a matter of order.
func IsInUse(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == 400 && e.Method == http.MethodDelete && strings.HasSuffix(e.Message, " is used")
}

// IsRefused says whether the device refused a request for what it says, which will not be better next time: none of the
// other questions fits.
func IsRefused(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code >= 400 && e.Code < 500 && !IsNotFound(err) && !IsConflict(err) &&
		!IsDependencyMissing(err) && !IsInUse(err)
}

// notDefined is how the device spells that something does not exist.
const notDefined = "] is not definied"

// Missing is what an object refers to that is not there, such as Zone and its name; ok is false when the device did not
// say.
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

// transportError is what may be said of an error of the connection. Errors of net/http quote what they could not read,
// and a device prints keys there; so only errors that are known to quote nothing pass.
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
