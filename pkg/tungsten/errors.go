package tungsten

import (
	"errors"
	"net/http"
	"strings"

	"github.com/netloom/netloom/pkg/httpcall"
)

var (
	// ErrUnauthorized means that the servers or Keystone refused the user, or a token that had just been issued.
	ErrUnauthorized = errors.New("the server rejects the credentials")
	// ErrUnknownOutcome means that a write was sent and no complete answer arrived: it may have been done. Read back before
	// writing again.
	ErrUnknownOutcome = httpcall.ErrUnknownOutcome
	// ErrNoAnswer means that a request timed out.
	ErrNoAnswer = httpcall.ErrNoAnswer
	// ErrTooLarge means that an answer is longer than the client accepts.
	ErrTooLarge = httpcall.ErrTooLarge
	// ErrUnexpected means that an answer of success is not what the request asks for: this may not be a configuration server.
	ErrUnexpected = httpcall.ErrUnexpected

	errNoToken = errors.New("get a token from Keystone")
)

// StatusError is an answer other than 200. Its message is the server's, shortened.
type StatusError = httpcall.StatusError

// IsNotFound reports whether the object does not exist.
func IsNotFound(err error) bool { return httpcall.IsCode(err, http.StatusNotFound) }

// IsConflict reports whether another object has the name, the UUID or the address.
func IsConflict(err error) bool {
	return httpcall.IsCode(err, http.StatusConflict) && !IsReferenced(err)
}

// IsReferenced reports whether an object was not deleted because others refer to it or are its children: a matter of order.
func IsReferenced(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == http.StatusConflict && e.Method == http.MethodDelete
}

// IsDependencyMissing reports whether an object was refused because it refers to something that does not exist: a matter of
// order. The server answers 400 for some kinds and 404 for others.
func IsDependencyMissing(err error) bool {
	var e *StatusError
	if !errors.As(err, &e) || e.Method != http.MethodPost && e.Method != http.MethodPut {
		return false
	}
	return e.Code == http.StatusNotFound && e.Method == http.MethodPost ||
		e.Code == http.StatusBadRequest && strings.HasPrefix(e.Message, "Unknown reference in resource")
}

// IsDraft reports whether a write was stored as a draft because the security draft mode is on: it is not in force until
// someone commits it.
func IsDraft(err error) bool { return httpcall.IsCode(err, http.StatusAccepted) }

// IsExhausted reports whether no tag ID is free. Nothing was written.
func IsExhausted(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == http.StatusInternalServerError && strings.Contains(e.Message, "ResourceExhaustionError")
}

// IsUnavailable reports whether no server accepts writes now, for example because it is starting.
func IsUnavailable(err error) bool { return httpcall.IsCode(err, http.StatusServiceUnavailable) }

// IsFault reports whether the server failed in the middle of a request. Half of a write may have been done.
func IsFault(err error) bool {
	return httpcall.IsCode(err, http.StatusInternalServerError) && !IsExhausted(err)
}

// IsRefused reports whether a request was refused for its content, so that a retry does not help.
func IsRefused(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code >= 400 && e.Code < 500 && !IsNotFound(err) && !IsConflict(err) && !IsReferenced(err) &&
		!IsDependencyMissing(err)
}

const (
	longestMessage = 600
	longestPath    = 200
)

// message is the text of an answer other than success, in one line: the body, or the essence of an HTML page.
func message(body []byte) string {
	text := strings.ToValidUTF8(string(body), "?")
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		_, text, _ = strings.Cut(text, "<pre>")
		text, _, _ = strings.Cut(text, "</pre>")
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "…"
	}
	return text
}

// shorten limits a path in a message.
func shorten(path string) string {
	if len(path) <= longestPath {
		return path
	}
	return path[:longestPath] + "…"
}
