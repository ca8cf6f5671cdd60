package openwrt

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/netloom/netloom/pkg/httpcall"
)

var (
	// ErrUnauthorized means that the device refused the password, or a session that it had just created.
	ErrUnauthorized = errors.New("the device rejects the login")
	// ErrUnknownOutcome means that a write was sent and no complete answer arrived: it may have been done, or half of it.
	// Read back before writing again.
	ErrUnknownOutcome = httpcall.ErrUnknownOutcome
	// ErrNoAnswer means that a request timed out.
	ErrNoAnswer = httpcall.ErrNoAnswer
	// ErrTooLarge means that an answer is longer than the client accepts.
	ErrTooLarge = httpcall.ErrTooLarge
	// ErrUnexpected means that a successful response is not one to this request.
	ErrUnexpected = httpcall.ErrUnexpected
)

// StatusError is a response other than success. Its message is the device's, shortened and without secrets; its path is relative
// to the address of LuCI.
type StatusError = httpcall.StatusError

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
func IsNotFound(err error) bool { return httpcall.IsCode(err, 404) }

// IsConflict reports whether another object has the name.
func IsConflict(err error) bool { return httpcall.IsCode(err, 409) }

// IsFault reports whether a script of the device aborted. Half of a write may have been done.
func IsFault(err error) bool { return httpcall.IsCode(err, 500) }

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
