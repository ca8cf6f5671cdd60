package openwrt

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/pkg/openwrt"
)

// stage applies the ops of one stage, and returns those that may succeed in another order; none if it is the last attempt.
func (w *writer) stage(ctx context.Context, ops []backends.Op, last bool) (again []backends.Op, err error) {
	for i := range ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := taskOf(&ops[i])
		w.use(s)
		if s.Relies && (!s.Urgent || !w.again) && w.unloaded(openwrt.Remotes.Service()) {
			w.holdAll(openwrt.Zones.Service())
		}
		if s.Last && w.unloaded(openwrt.Zones.Service()) {
			w.hold(s.Key.Name)
		}
		if w.gaveUp(s) || w.isHeld(s) || s.Stage != compare.Reload && w.waits[s.Service()] || s.Opens() && w.unloaded(openwrt.Zones.Service()) {
			continue
		}
		err := w.do(ctx, s)
		switch {
		case err == nil:
			w.settle(s)
			w.succeeded(s)
		case !last && (openwrt.IsDependencyMissing(err) || openwrt.IsInUse(err)):
			again = append(again, ops[i])
		case s.Stage == compare.Reload && answered(err):
			w.fail(&ops[i], err) // the other services are reloaded all the same, except those that rely on it
			w.hold(s.Key.Name)
		case isNote(err) && answered(err):
			w.fail(&ops[i], err)
			w.waits[s.Service()] = true
		case s.Stage != compare.Reload && refuses(err):
			if err := w.mend(ctx, s, err); err != nil {
				return nil, err
			}
		case s.Stage != compare.Reload && openwrt.IsFault(err) && !isNote(err):
			if err := w.abort(ctx, &ops[i], s, err); err != nil {
				return nil, err
			}
		default:
			return nil, errors.Join(append(w.errs, fmt.Errorf("%s %s %s: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, reached(err)))...)
		}
	}
	return again, nil
}

func (w *writer) do(ctx context.Context, s *task) error {
	switch {
	case s.Stage == compare.Reload:
		return w.reload(ctx, s)
	case s.Surplus != nil:
		return w.removeSurplus(ctx, s)
	case s.Want == nil:
		return w.remove(ctx, s)
	default:
		return w.put(ctx, s)
	}
}
