package openwrt

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The device's scripts abort, and it answers 500, on a transient fault, but also, each time, for a package that cannot be read and for
// an object that they cannot handle. So the first abort is an error, after which everything is read back, and the second is a rejection
// of that object. Either way the other objects are written. After the first abort, nothing of that service is deleted or loaded:
// what was written may allow or deny what neither the old nor the new policies do.

// mostAborted is the number of consecutive aborted requests after which the rest of a module is left for later.
const mostAborted = 3

// mostErrors is how many such errors Apply returns.
const mostErrors = 5

// answered reports whether an error is a response of the device: other requests may succeed.
func answered(err error) bool {
	var status *openwrt.StatusError
	return errors.As(err, &status) || openwrt.IsLoss(err)
}

func isNote(err error) bool {
	var note *noteError
	return errors.As(err, &note)
}

// repeated reports whether the device has aborted on the same object before, and records that it did now.
func (w *writer) repeated(k section.Key, o openwrt.Object) bool {
	of := ""
	if o != nil {
		of = section.DigestOf(o)
	}
	before, again := w.b.faulted[k]
	w.b.faulted[k] = of
	return again && before == of
}

// abort handles an op on which a script of the device aborted.
func (w *writer) abort(ctx context.Context, op *backends.Op, s *task, cause error) error {
	w.aborted[s.Key.Module()]++
	var object openwrt.Object
	if s.Want != nil {
		object = s.Want.Object
	}
	if w.repeated(s.Key, object) {
		return w.mend(ctx, s, cause)
	}
	w.fail(op, cause)
	if err := w.revert(ctx, s); err != nil {
		return err
	}
	rescued, err := w.rescue(ctx, s)
	if err == nil && !rescued {
		w.refuse(s, cause.Error(), true) // what needs it waits
		w.hold(s.Service())
	}
	return err
}

// revert drops the part of a policy that the device has kept and can neither read nor replace. When it refuses to create an object because
// the name is taken, it drops everything of the package that is not complete; of policies it does not, so a rule takes the name.
func (w *writer) revert(ctx context.Context, s *task) error {
	if s.Want == nil || s.Key.Kind != openwrt.Policies {
		return nil
	}
	if _, err := w.b.client.Get(ctx, s.Key.Kind, s.Key.Name); !openwrt.IsFault(err) {
		return nil
	}
	w.wrote(s.Service())
	taker := openwrt.ObjectOf(openwrt.PolicyRule{Name: s.Key.Name})
	_, err := w.b.client.Create(ctx, openwrt.PolicyRules, taker)
	if err == nil { // the name was not taken after all
		err = w.b.client.Delete(ctx, openwrt.PolicyRules, s.Key.Name)
	}
	if err != nil && !answered(err) {
		return fmt.Errorf("drop the remains of %s: %w", s.Key, reached(err))
	}
	return nil
}

// rescue writes an object once more if the device has deleted the previous one. It reports whether that succeeded.
func (w *writer) rescue(ctx context.Context, s *task) (bool, error) {
	if s.Want == nil || w.have.Objects[s.Key] == nil {
		return false, nil
	}
	if _, err := w.b.client.Get(ctx, s.Key.Kind, s.Key.Name); !openwrt.IsNotFound(err) {
		return false, nil
	}
	w.wrote(s.Service())
	_, err := w.b.client.Put(ctx, s.Key.Kind, s.Want.Object)
	if err != nil && !answered(err) {
		return false, fmt.Errorf("write %s again: %w", s.Key, reached(err))
	}
	return err == nil, nil
}

// hold leaves the deletions and the reload of a service for the next plan. Objects that take effect at once have no service.
func (w *writer) hold(service string) {
	if service != "" {
		w.held[service] = true
	}
}

// isHeld reports whether an op is left for the next plan, because an object of its service will be written once more.
func (w *writer) isHeld(s *task) bool {
	return s.Stage == compare.Sweep && w.held[s.Service()] || s.Stage == compare.Reload && w.held[s.Key.Name]
}

// gaveUp reports whether an op is left for later, because the device aborts on whatever is sent for its module.
func (w *writer) gaveUp(s *task) bool {
	module := s.Key.Module()
	if s.Stage == compare.Reload || w.aborted[module] < mostAborted {
		return false
	}
	w.refuse(s, fmt.Sprintf("not written: the device aborts on other objects of %s, see them", module), true)
	return true
}

// succeeded records that the device handled an op.
func (w *writer) succeeded(s *task) {
	if s.Stage != compare.Reload {
		delete(w.b.faulted, s.Key)
		delete(w.aborted, s.Key.Module())
	}
}

// fail records an error that does not end Apply.
func (w *writer) fail(op *backends.Op, err error) {
	if len(w.errs) < mostErrors {
		w.errs = append(w.errs, fmt.Errorf("%s %s %s: %w", op.Verb, op.Kind, op.Name, err))
	}
}
