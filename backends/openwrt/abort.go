package openwrt

import (
	"context"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The device's scripts abort, and it answers 500, on a transient fault, but also, each time, for a package that cannot be read and for
// an object that they cannot handle. So the first abort is an error, after which everything is read back, and the second is a rejection
// of that object. Either way the other objects are written. After the first abort, nothing of that service is deleted or loaded:
// what was written may allow or deny what neither the old nor the new policies do.

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
