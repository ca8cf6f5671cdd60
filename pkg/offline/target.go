package offline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/reconcile"
)

// connectWait is how long a command waits for the first connection.
const connectWait = 10 * time.Second

// retryPause is the pause between two attempts.
const retryPause = 20 * time.Millisecond

// Planned is a plan and what it would protect.
type Planned struct {
	Plan *backends.Plan // nil if none could be made
	// Coverage lists which of the selected pods the target knows; nil if it cannot report that.
	Coverage *backends.Report
}

// add stores a plan of t.
func (p *Planned) add(t *builtin.Target, plan *backends.Plan) {
	p.Plan, p.Coverage = plan, nil
	if c, ok := backends.CoverageOf(t.Backend); ok {
		p.Coverage = c.Report()
	}
}

// DryRun plans from read-back and writes nothing.
func DryRun(ctx context.Context, settings builtin.Settings, want *intent.Snapshot) (Planned, error) {
	var out Planned
	err := withTarget(ctx, settings, func(ctx context.Context, t *builtin.Target) error {
		plan, err := planWhenConnected(ctx, t, want)
		if err == nil {
			out.add(t, plan)
		}
		return err
	})
	return out, err
}

// Recorded reads the settings that the daemon recorded in the target; nil if there are none, or the target keeps none.
func Recorded(ctx context.Context, settings builtin.Settings) (map[string]string, error) {
	var out map[string]string
	err := withTarget(ctx, settings, func(ctx context.Context, t *builtin.Target) error {
		recorder, ok := t.Backend.(backends.Recorder)
		if !ok {
			return nil
		}
		return whenConnected(ctx, func() error {
			var err error
			out, err = recorder.Recorded(ctx)
			return err
		})
	})
	return out, err
}

// Applied is the result of Apply.
type Applied struct {
	Planned
	Kept retention.Kept // what is missing from the source, and whose rows were left
}

// ErrOutOfSync is what Apply returns if the target is not in sync afterwards: something else writes to it.
var ErrOutOfSync = errors.New("the target is out of sync after the plan was applied")

// Approval is what Apply may remove for good although too much is missing from the source.
type Approval struct {
	All    bool   // anything
	Digest string // exactly the missing objects with this digest; "" for nothing
}

// ErrOtherDigest is in the error of Apply if the missing objects are not those that were approved. Nothing is written then.
var ErrOtherDigest = errors.New("the missing objects are not the ones that were approved")

// Apply brings the target in sync with want and reads it back to verify. Rows of objects that are missing from the source are kept if there
// are too many of them, according to opts, and their removal is not approved; everything else is written.
func Apply(
	ctx context.Context, settings builtin.Settings, want *intent.Snapshot, opts reconcile.Options, approval Approval,
) (Applied, error) {
	var applied Applied
	err := withTarget(ctx, settings, func(ctx context.Context, t *builtin.Target) error {
		plan, err := planWhenConnected(ctx, t, want)
		if err != nil {
			return err
		}
		if applied.Kept, err = approval.judge(t, plan, want, opts); err != nil {
			return err
		}
		if applied.Kept.Digest != "" {
			if plan, err = t.Backend.Plan(ctx, want, 0); err != nil {
				return err
			}
		}
		applied.add(t, plan)
		if !plan.Empty() {
			if err := t.Backend.Apply(ctx, plan); err != nil {
				return err
			}
		}
		again, err := t.Backend.Plan(ctx, want, 0)
		if err != nil {
			return err
		}
		if !again.Empty() {
			return fmt.Errorf("%w: %s", ErrOutOfSync, again.Summary())
		}
		applied.add(t, plan) // with the ports that appeared in the meantime
		return nil
	})
	return applied, err
}

// judge returns what a plan must not remove, and has the backend keep it.
func (c Approval) judge(t *builtin.Target, plan *backends.Plan, want *intent.Snapshot, opts reconcile.Options) (retention.Kept, error) {
	keeper, ok := t.Backend.(backends.Keeper)
	if !ok {
		return retention.Kept{}, nil
	}
	lost := opts.Suspicious(plan, want)
	kept := retention.NewKept(retention.KeptIn(t.Name, lost))
	switch {
	case c.Digest != "" && c.Digest != kept.Digest:
		if kept.Digest == "" {
			return retention.Kept{}, fmt.Errorf("approve %s: %w: too few objects are missing to need approval", c.Digest, ErrOtherDigest)
		}
		return retention.Kept{}, fmt.Errorf("approve %s: %w: the rows of %d objects would be removed, and their digest is %s",
			c.Digest, ErrOtherDigest, len(lost), kept.Digest)
	case kept.Digest == "" || c.All || c.Digest != "":
		return retention.Kept{}, nil
	}
	keeper.Keep(lost)
	return kept, nil
}

// withTarget runs f with a target of its own.
func withTarget(ctx context.Context, settings builtin.Settings, f func(context.Context, *builtin.Target) error) error {
	targets, err := builtin.Configured(settings)
	if err != nil {
		return err
	}
	if len(targets) > 1 {
		for _, t := range targets {
			err = errors.Join(err, t.Backend.Close())
		}
		return errors.Join(errors.New("several targets are configured: expected one"), err)
	}
	return running(ctx, targets[0], f)
}

// running runs f with a target that is closed afterwards.
func running(ctx context.Context, t *builtin.Target, f func(context.Context, *builtin.Target) error) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- t.Run(ctx) }()
	err := f(ctx, t)
	cancel()
	return errors.Join(err, <-done, t.Backend.Close())
}

// planWhenConnected plans as soon as there is a connection.
func planWhenConnected(ctx context.Context, t *builtin.Target, want *intent.Snapshot) (*backends.Plan, error) {
	var plan *backends.Plan
	err := whenConnected(ctx, func() error {
		var err error
		plan, err = t.Backend.Plan(ctx, want, 0)
		return err
	})
	return plan, err
}

// whenConnected retries f until there is a connection.
func whenConnected(ctx context.Context, f func() error) error {
	limit := time.Now().Add(connectWait)
	for {
		err := f()
		if err == nil || !errors.Is(err, ovsdb.ErrNotConnected) {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("no connection within %s: %w", connectWait, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}
