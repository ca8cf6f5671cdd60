package openwrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The device replaces an object by deleting and creating it. The functions below ensure that a failed write neither loses the previous
// object nor leaves a partial one.

// mend records a rejection and restores what was there before it.
func (w *writer) mend(ctx context.Context, s *task, cause error) error {
	reason := cause.Error()
	if s.Want != nil && w.have.Sizes[s.Key.Module()].Sections == 0 {
		reason = hintAtPackage(s.Key.Module(), cause)
	}
	var need *needError
	wanting := errors.As(cause, &need)
	if s.Want != nil && !wanting {
		lost, err := w.putBack(ctx, s)
		if err != nil {
			return err
		}
		if lost {
			reason += "; the previous object is lost"
		}
	}
	if openwrt.IsFault(cause) && w.leftPart(ctx, s.Key) {
		reason += fmt.Sprintf("; the device has a part of it, which it can neither use nor delete: remove the section with the name %s"+
			" from its package by hand, or restart the container", s.Key.Name)
	}
	w.refuse(s, reason, !wanting)
	return nil
}

// hintAtPackage returns why an object is rejected by a package in which nothing was listed.
func hintAtPackage(module string, cause error) string {
	what, _, unknown := openwrt.Missing(cause)
	switch {
	case openwrt.IsFault(cause):
		return badPackage(module, fmt.Errorf("its lists are empty, and a write fails: %w", cause))
	case unknown && what == "Interface":
		return fmt.Sprintf("%v: the file /etc/config/%s has no such section, or it is missing or corrupt", cause, module)
	default:
		return cause.Error()
	}
}

// leftPart reports whether the device has only a part of an object: one without what each of its commands needs.
func (w *writer) leftPart(ctx context.Context, k section.Key) bool {
	needed := map[openwrt.Kind][]string{openwrt.Routes: {"dst", "dev"}, openwrt.NetworkRules: {"src", "target"}}[k.Kind]
	if needed == nil {
		return false
	}
	o, err := w.b.client.Get(ctx, k.Kind, k.Name)
	return err == nil && slices.ContainsFunc(needed, func(field string) bool { return section.Text(o, field) == "" })
}

// putBack restores an object to what it was before a rejected write. It reports whether that was not possible.
func (w *writer) putBack(ctx context.Context, s *task) (lost bool, err error) {
	now, err := w.b.client.Get(ctx, s.Key.Kind, s.Key.Name)
	if openwrt.IsNotFound(err) {
		now, err = nil, nil
	}
	if openwrt.IsFault(err) {
		return w.have.Objects[s.Key] != nil, nil // unknown: if it existed, it may be lost
	}
	if err != nil {
		return false, fmt.Errorf("check %s after it was rejected: %w", s.Key, reached(err))
	}
	before := w.have.Objects[s.Key]
	switch {
	case before == nil && now == nil:
		return false, nil
	case before == nil: // part of it is there
		if err := w.b.client.Delete(ctx, s.Key.Kind, s.Key.Name); err != nil && !answered(err) {
			return false, fmt.Errorf("remove the remains of %s: %w", s.Key, reached(err))
		}
		return false, nil
	case now != nil && len(openwrt.Diff(s.Key.Kind, before.Object, now)) == 0 && section.Shown(before.Object) == section.Shown(now):
		return false, nil
	}
	old := before.Sent
	if old == nil {
		old = before.Object
		if section.Shown(old) != "" {
			old = nil // the device does not show certificates as they are
		}
	}
	if old == nil {
		delete(w.have.Objects, s.Key)
		return true, nil
	}
	w.wrote(s.Service())
	kept, err := w.b.client.Put(ctx, s.Key.Kind, old)
	switch {
	case err == nil:
		w.have.End++
		w.have.Objects[s.Key] = &device.Object{Object: kept, Sent: before.Sent, Copies: 1, At: w.have.End}
		return false, nil
	case refuses(err), openwrt.IsFault(err):
		delete(w.have.Objects, s.Key)
		return true, nil
	default:
		return false, fmt.Errorf("restore %s: %w", s.Key, reached(err))
	}
}
