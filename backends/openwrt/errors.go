package openwrt

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// ErrForeignPlan is what Apply returns for a plan that another backend made.
var ErrForeignPlan = errors.New("not a plan of this backend")

// errNotWithdrawn means that the device shows something else than what certificates were overwritten with.
var errNotWithdrawn = errors.New("its certificates could not be overwritten, and the device would go on trusting them; nothing else was written")

// needError means that an object was not written because another is missing.
type needError struct {
	need section.Key
	why  string
}

func (e *needError) Error() string {
	return fmt.Sprintf("needs %s, which is missing: %s", e.need, e.why)
}

// noteError means that a note could not be left. It is not a rejection of an object.
type noteError struct{ err error }

func (e *noteError) Error() string { return "write a record to the device: " + e.err.Error() }

func (e *noteError) Unwrap() error { return e.err }

// answered reports whether an error is a response of the device: other requests may succeed.
func answered(err error) bool {
	var status *openwrt.StatusError
	return errors.As(err, &status) || openwrt.IsLoss(err)
}

func isNote(err error) bool {
	var note *noteError
	return errors.As(err, &note)
}

// refuses reports whether an error concerns the object that was written rather than the device.
func refuses(err error) bool {
	var note *noteError
	var need *needError
	var name *openwrt.NameError
	var status *openwrt.StatusError
	switch {
	case errors.As(err, &note):
		return false
	case errors.As(err, &need), errors.As(err, &name), openwrt.IsLoss(err), errors.Is(err, errNotWithdrawn):
		return true
	default:
		return errors.As(err, &status) && status.Code >= 400 && status.Code < 500
	}
}

// reached marks an error that does not depend on the request: the device was not reached, or did not answer.
func reached(err error) error {
	var status *openwrt.StatusError
	var name *openwrt.NameError
	switch {
	case err == nil, errors.As(err, &status), errors.As(err, &name), openwrt.IsLoss(err), errors.Is(err, openwrt.ErrUnauthorized),
		errors.Is(err, openwrt.ErrTooLarge), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, ErrForeignPlan):
		return err
	default:
		return fmt.Errorf("%w: %w", backends.ErrUnreachable, err)
	}
}

// badPackage says that the file of a module is missing or corrupt, and how that shows.
func badPackage(module string, sign error) string {
	return fmt.Sprintf("the device cannot read its package %s: the file /etc/config/%s is missing or corrupt (%v)", module, module, sign)
}
