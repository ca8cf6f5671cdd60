package openwrt

import (
	"context"
	"fmt"

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
		w.b.losesTunnels = true
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

// reload reloads a service, if anything was written for it, and removes the note.
func (w *writer) reload(ctx context.Context, s *task) error {
	service := s.Key.Name
	if s.Must || w.run.wrote[service] {
		if err := w.b.awaitPause(ctx, service); err != nil {
			return err
		}
		if err := w.b.client.Act(ctx, service, openwrt.Reload); err != nil {
			return err
		}
		w.run.wrote[service] = false
		delete(w.b.owes, service)
		w.b.losesTunnels = w.b.losesTunnels && service != openwrt.Remotes.Service()
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
