package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/object"
)

// TestWhatAStagedPolicyWouldDoIsReported: a flow that it would decide differently is an Event and part of the message, until the policy is
// enforced; one of a policy in force is neither.
func TestWhatAStagedPolicyWouldDoIsReported(t *testing.T) {
	withRig(t, func(d *rig) {
		staged := func(np *networkingv1.NetworkPolicy) {
			np.Annotations = map[string]string{object.EnforcementAnnotation: object.EnforcementStaged}
		}
		db := object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"}
		d.policy("db", 1, 80, staged)
		d.start()
		d.after(time.Minute)
		require.Equal(t, "ovn: it is staged: it neither denies nor allows anything", d.message("db"))
		d.recorded()
		d.writes()
		d.made.Tried(db, "shop/web -> shop/db tcp/80 would be denied", "since noon: 7 connections, 1 flow would be denied")
		d.after(time.Minute)
		require.Equal(t, "ovn: it is staged: it neither denies nor allows anything; since noon: 7 connections, 1 flow would be denied", d.message("db"))
		require.Equal(t, []string{"Normal WouldDiffer shop/web -> shop/db tcp/80 would be denied"}, d.recorded())
		require.Equal(t, []string{"db status by netloom"}, d.writes())

		d.policy("db", 2, 80)
		d.after(time.Minute)
		d.recorded()
		require.Equal(t, "True Enforced 2", d.says("db"))
		d.made.Tried(db, "late", "late")
		d.policy("db", 3, 80, staged)
		d.after(time.Minute)
		require.NotContains(t, d.recorded(), "Normal WouldDiffer late")
		require.Equal(t, "ovn: it is staged: it neither denies nor allows anything", d.message("db"), "what was seen before is of another policy")
	})
}

// message is that of the condition Enforced.
func (d *rig) message(policy string) string {
	for _, c := range d.status(policy).Status.Conditions {
		if c.Type == "Enforced" {
			return c.Message
		}
	}
	return ""
}
