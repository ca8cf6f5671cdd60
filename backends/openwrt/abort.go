package openwrt

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
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
func (w *writer) abort(ctx context.Context, op *backends.Op, s *step, cause error) error {
	w.aborted[s.key.Module()]++
	var object openwrt.Object
	if s.want != nil {
		object = s.want.Object
	}
	if w.repeated(s.key, object) {
		return w.mend(ctx, s, cause)
	}
	w.fail(op, cause)
	if err := w.revert(ctx, s); err != nil {
		return err
	}
	rescued, err := w.rescue(ctx, s)
	if err == nil && !rescued {
		w.refuse(s, cause.Error(), true) // what needs it waits
		w.hold(s.service())
	}
	return err
}

// revert drops the part of a policy that the device has kept and can neither read nor replace. When it refuses to create an object because
// the name is taken, it drops everything of the package that is not complete; of policies it does not, so a rule takes the name.
func (w *writer) revert(ctx context.Context, s *step) error {
	if s.want == nil || s.key.Kind != openwrt.Policies {
		return nil
	}
	if _, err := w.b.client.Get(ctx, s.key.Kind, s.key.Name); !openwrt.IsFault(err) {
		return nil
	}
	w.wrote(s.service())
	taker := openwrt.ObjectOf(openwrt.PolicyRule{Name: s.key.Name})
	_, err := w.b.client.Create(ctx, openwrt.PolicyRules, taker)
	if err == nil { // the name was not taken after all
		err = w.b.client.Delete(ctx, openwrt.PolicyRules, s.key.Name)
	}
	if err != nil && !answered(err) {
		return fmt.Errorf("drop the remains of %s: %w", s.key, reached(err))
	}
	return nil
}

// rescue writes an object once more if the device has deleted the previous one. It reports whether that succeeded.
func (w *writer) rescue(ctx context.Context, s *step) (bool, error) {
	if s.want == nil || w.have.objects[s.key] == nil {
		return false, nil
	}
	if _, err := w.b.client.Get(ctx, s.key.Kind, s.key.Name); !openwrt.IsNotFound(err) {
		return false, nil
	}
	w.wrote(s.service())
	_, err := w.b.client.Put(ctx, s.key.Kind, s.want.Object)
	if err != nil && !answered(err) {
		return false, fmt.Errorf("write %s again: %w", s.key, reached(err))
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
func (w *writer) isHeld(s *step) bool {
	return s.stage == sweep && w.held[s.service()] || s.stage == reload && w.held[s.key.Name]
}

// gaveUp reports whether an op is left for later, because the device aborts on whatever is sent for its module.
func (w *writer) gaveUp(s *step) bool {
	module := s.key.Module()
	if s.stage == reload || w.aborted[module] < mostAborted {
		return false
	}
	w.refuse(s, fmt.Sprintf("not written: the device aborts on other objects of %s, see them", module), true)
	return true
}

// succeeded records that the device handled an op.
func (w *writer) succeeded(s *step) {
	if s.stage != reload {
		delete(w.b.faulted, s.key)
		delete(w.aborted, s.key.Module())
	}
}

// fail records an error that does not end Apply.
func (w *writer) fail(op *backends.Op, err error) {
	if len(w.errs) < mostErrors {
		w.errs = append(w.errs, fmt.Errorf("%s %s %s: %w", op.Verb, op.Kind, op.Name, err))
	}
}
