package openwrt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// remove deletes the object of a name. Deleting a note has no effect on a service.
func (w *writer) remove(ctx context.Context, s *task) error {
	note := s.Key.Kind == openwrt.Proposals && w.b.names.Note(s.Key.Name)
	if note && w.run.left[s.Key.Name] {
		return nil
	}
	if !note {
		if err := w.begin(ctx, s.Service()); err != nil {
			return err
		}
		if err := w.withdraw(ctx, s.Key, section.Parts{}); err != nil {
			return err
		}
	}
	if err := w.b.client.Delete(ctx, s.Key.Kind, s.Key.Name); err != nil && !openwrt.IsNotFound(err) {
		return err
	}
	if note {
		delete(w.have.Notes, s.Key.Name)
		return nil
	}
	w.have.Grow(s.Key, w.have.Objects[s.Key], nil)
	delete(w.have.Objects, s.Key)
	delete(w.have.Absent, s.Key)
	delete(w.b.memory.Objects, s.Key)
	w.kernel = w.kernel || section.InKernel(s.Key.Kind)
	w.wrote(s.Service())
	if s.Key.Kind == openwrt.Remotes {
		return w.forgetParts(ctx, s.Key.Name, "")
	}
	return nil
}

// put writes an object, unless something that it refers to is missing.
func (w *writer) put(ctx context.Context, s *task) error {
	for _, need := range s.Want.Needs {
		if r, refused := w.b.refused[need]; refused && w.have.Objects[need] == nil {
			return &needError{need, r.Reason}
		}
	}
	if err := w.begin(ctx, s.Service()); err != nil {
		return err
	}
	has, note := section.PartsIn(s.Want.Object), ""
	if err := w.withdraw(ctx, s.Key, has); err != nil {
		return err
	}
	if has != (section.Parts{}) {
		note = w.b.names.Parts(has, s.Key.Name)
		if err := w.leaveNote(ctx, note); err != nil {
			return err
		}
	}
	if s.Key.Kind == openwrt.NATs && w.have.Objects[s.Key] == nil {
		if err := w.drain(ctx, s.Key.Kind, section.WithoutPlace(s.Want.Object)); err != nil {
			return err
		}
	}
	kept, err := w.b.client.Put(ctx, s.Key.Kind, s.Want.Object)
	if err != nil {
		return err
	}
	w.kernel, w.written[s.Key] = w.kernel || section.InKernel(s.Key.Kind), true
	if device.IsLink(s.Key.Kind) {
		w.b.memory.Objects[s.Key] = kept
	}
	w.have.End++
	now := &device.Object{Object: kept, Sent: s.Want.Object, Copies: 1, At: w.have.End, As: s.Want}
	w.have.Grow(s.Key, w.have.Objects[s.Key], now)
	w.have.Objects[s.Key] = now
	w.wrote(s.Service())
	if s.Key.Kind == openwrt.Remotes {
		if err := w.forgetParts(ctx, s.Key.Name, note); err != nil {
			return err
		}
	}
	written := section.Sealed(s.Want.Object)
	if written == "" {
		return nil
	}
	seal := w.b.names.Seal(s.Key.Name, written, section.Shown(kept))
	err = w.leaveNote(ctx, seal)
	if err == nil {
		w.b.seals[s.Key] = seal
	}
	return err
}

// wrote records that a service has to be reloaded.
func (w *writer) wrote(service string) {
	if service != "" {
		w.run.wrote[service] = true
		w.b.owes[service] = true
	}
}

// errNotWithdrawn means that the device shows something else than what certificates were overwritten with.
var errNotWithdrawn = errors.New("its certificates could not be overwritten, and the device would go on trusting them; nothing else was written")

// withdraw overwrites the certificates of a remote that would stay on the device after it gets those in next.
func (w *writer) withdraw(ctx context.Context, k section.Key, next section.Parts) error {
	if k.Kind != openwrt.Remotes {
		return nil
	}
	blank := section.Withdrawal(k.Name, w.have.PartsOf(w.b.names, k.Name), next)
	if blank == nil {
		return nil
	}
	w.wrote(k.Kind.Service())
	kept, err := w.b.client.Put(ctx, k.Kind, blank)
	switch {
	case err != nil:
		return fmt.Errorf("overwrite its certificates: %w", err)
	case !section.IsWithdrawn(kept):
		return errNotWithdrawn
	default:
		return nil
	}
}

// forgetParts removes the notes of how many certificates a remote had, except the one that is right.
func (w *writer) forgetParts(ctx context.Context, remote, except string) error {
	for _, note := range slices.Sorted(maps.Keys(w.have.Notes)) {
		_, of, ok := w.b.names.PartsIn(note)
		if !ok || of != remote || note == except {
			continue
		}
		if err := w.b.client.Delete(ctx, openwrt.Proposals, note); err != nil && !answered(err) {
			return err
		}
		delete(w.have.Notes, note)
	}
	return nil
}

// begin leaves a note that a service has to reload, before anything is written: if this process ends before it reloads
// the service, the next one finds the note.
func (w *writer) begin(ctx context.Context, service string) error {
	if service == "" {
		return nil
	}
	return w.leaveNote(ctx, w.b.names.Pending(service))
}

// leaveNote leaves a note. If the device rejects it twice in a row, everything goes on without it: then only this process knows
// what it would have said.
func (w *writer) leaveNote(ctx context.Context, name string) error {
	w.run.left[name] = true
	if w.have.Notes[name] || w.unnoted[name] {
		return nil
	}
	note := openwrt.ObjectOf(openwrt.Proposal{Name: name})
	_, err := w.b.client.Put(ctx, openwrt.Proposals, note)
	k := section.Key{Kind: openwrt.Proposals, Name: name}
	switch {
	case err == nil:
		w.have.Notes[name] = true
		delete(w.b.faulted, k)
		return nil
	case answered(err) && w.repeated(k, note):
		w.unnoted[name] = true
		w.b.opts.Log.WithFields(logrus.Fields{"cnf": string(w.b.opts.CNF), "reason": err.Error()}).
			Warn("the device does not store the record of changes that are still to be loaded")
		return nil
	default:
		return &noteError{err}
	}
}

// awaitPause waits until a service may be reloaded again, and begins the pause after the reload that follows.
func (w *writer) awaitPause(ctx context.Context, service string) error {
	if over := w.b.pauses[service]; over != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
		}
	}
	if w.b.opts.ReloadPause <= 0 {
		return nil
	}
	over := make(chan struct{})
	w.b.pauses[service] = over
	time.AfterFunc(w.b.opts.ReloadPause, func() { close(over) })
	return nil
}

// pausing reports whether a service must not be reloaded yet.
func (b *Backend) pausing(service string) bool {
	over := b.pauses[service]
	if over == nil {
		return false
	}
	select {
	case <-over:
		return false
	default:
		return true
	}
}

// reload reloads a service, if anything was written for it, and removes the note.
func (w *writer) reload(ctx context.Context, s *task) error {
	service := s.Key.Name
	if s.Must || w.run.wrote[service] {
		if err := w.awaitPause(ctx, service); err != nil {
			return err
		}
		if err := w.b.client.Act(ctx, service, openwrt.Reload); err != nil {
			return err
		}
		w.run.wrote[service] = false
		delete(w.b.owes, service)
	}
	name := w.b.names.Pending(service)
	if !w.have.Notes[name] {
		return nil
	}
	if err := w.b.client.Delete(ctx, openwrt.Proposals, name); err != nil && !openwrt.IsNotFound(err) {
		return err
	}
	delete(w.have.Notes, name)
	return nil
}
