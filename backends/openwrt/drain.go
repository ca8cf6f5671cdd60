package openwrt

import (
	"context"
	"fmt"

	"github.com/netloom/netloom/pkg/openwrt"
)

// drain removes from the kernel what an object stands for, once: the device stores the object without effect, because the kernel
// has it already or because its place does not exist, and then deletes it.
func (w *writer) drain(ctx context.Context, kind openwrt.Kind, o openwrt.Object) error {
	if _, err := w.b.client.Put(ctx, kind, o); err != nil {
		return fmt.Errorf("remove what is left of it: %w", err)
	}
	if err := w.b.client.Delete(ctx, kind, o.Name()); err != nil && !openwrt.IsNotFound(err) {
		return fmt.Errorf("remove what is left of it: %w", err)
	}
	return nil
}

// removeSurplus removes what the device does not list and what objects of ours left behind.
func (w *writer) removeSurplus(ctx context.Context, s *task) error {
	if s.Key.Kind == openwrt.Remotes {
		if err := w.begin(ctx, s.Service()); err != nil {
			return err
		}
		w.wrote(s.Service())
		if err := w.drain(ctx, s.Key.Kind, s.Surplus); err != nil {
			return err
		}
		return w.forgetParts(ctx, s.Key.Name, "")
	}
	w.kernel = true
	delete(w.b.memory.Objects, s.Key)
	return w.drain(ctx, s.Key.Kind, s.Surplus)
}
