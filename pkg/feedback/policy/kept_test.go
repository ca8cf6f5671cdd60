package policy_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// remembering is a target that has rows of objects that are in no snapshot, until they need not be kept any more.
type remembering struct {
	*faulty
	knows []object.Ref
	keeps map[object.Ref]bool
}

func (r *remembering) Keep(objects []object.Ref) {
	r.keeps = map[object.Ref]bool{}
	for _, o := range objects {
		r.keeps[o] = true
	}
}

func (r *remembering) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	p, err := r.faulty.Plan(ctx, want, since)
	if err != nil || since != 0 {
		return p, err
	}
	p.Objects = map[string]int{}
	for _, o := range r.knows {
		p.Objects[o.Kind]++
		if r.keeps[o] {
			p.Kept = append(p.Kept, o)
		} else {
			p.Lost = append(p.Lost, o)
		}
	}
	return p, nil
}

// TestEventsOfWhatATargetKeeps starts beside a target that knows a policy and a Service that the source does not have.
func TestEventsOfWhatATargetKeeps(t *testing.T) {
	withRig(t, func(d *rig) {
		d.guard.MaxDeleteFraction, d.guard.MinDeleteGuard = 0.5, 1
		d.knows = []object.Ref{
			{Kind: backends.KindPort, Name: "shop_db-0"},
			{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "gone"},
			{Kind: object.KindService, Namespace: "shop", Name: "gone"},
		}
		d.start()
		message := "Warning Kept it has been missing from the source since netloom started: target ovn keeps its configuration until it is back or its removal is approved"
		require.Equal(t, []string{message, message}, d.recorded(), "of the policy and of the Service, once each")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, d.recorded())
	})
}

// TestThePolicyStatusOfAPolicyThatATargetKeepsSaysSo restarts without a policy whose PolicyStatus is still there, as when it
// may not be read any more.
func TestThePolicyStatusOfAPolicyThatATargetKeepsSaysSo(t *testing.T) {
	withRig(t, func(d *rig) {
		d.guard.MaxDeleteFraction, d.guard.MinDeleteGuard = 0.5, 1
		d.policy("db", 3, 80)
		d.start()
		require.Equal(t, "True Enforced 3", d.says("db"))
		owner := d.status("db").OwnerReferences
		d.stop()
		lost := object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"}
		d.source.PutAs(lost, nil)
		d.source.Again()
		d.knows = []object.Ref{lost, {Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "gone"}}
		d.start()
		require.Equal(t, "Unknown Kept 3", d.says("db"))
		s := d.status("db")
		require.Contains(t, condition(&s.Status).Message, "target ovn keeps its configuration until it is back")
		require.Equal(t, owner, s.OwnerReferences)
		require.Nil(t, d.status("gone"), "none is made")
		d.writes()
		d.after(time.Hour)
		require.Empty(t, d.writes())

		d.loop.Release([]object.Ref{lost})
		d.after(2 * time.Second)
		require.Equal(t, "False Missing 3", d.says("db"), "its removal is approved")
		d.policy("db", 3, 80)
		d.after(2 * time.Second)
		require.Equal(t, "True Enforced 3", d.says("db"), "it is back")
	})
}
