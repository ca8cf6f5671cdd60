package tungsten_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	api "github.com/netloom/netloom/pkg/tungsten"
)

// TestRemovalOfWhatWasRenamed removes everything although kube-manager calls the cluster by another name by now: interfaces that are of no pod
// of the cluster lose their tags as well. What somebody else's object refers to is left, and it is said why.
func TestRemovalOfWhatWasRenamed(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	r := newRig(t, target, "a")
	r.sync(t, s, s.Snapshot())
	port := tungstentest.PortUUID(podKey(0))
	require.NoError(t, target.Client.Update(t.Context(), api.KindInterface, port, api.Fields{
		"annotations": []byte(`{"key_value_pair":[{"key":"kind","value":"Pod"},{"key":"cluster","value":"new"}]}`),
	}))
	tags, err := target.Client.List(t.Context(), api.KindTag, api.Query{Detail: true})
	require.NoError(t, err)
	group := &api.Object{Kind: api.KindAddressGroup, FQName: []string{"default-policy-management", "by-hand"}, ParentType: api.KindPolicyManagement}
	for _, tag := range tags {
		if tag.TagValue == "netloom.a.covered.ingress" {
			group.TagRefs = []api.Ref{api.RefTo(tag.FQName...)}
		}
	}
	group.UUID, err = target.Client.Create(t.Context(), group)
	require.NoError(t, err)

	b := newRig(t, target, "a").backend
	for range 2 {
		plan, err := b.PlanRemoval(t.Context())
		require.NoError(t, err)
		require.NoError(t, b.Apply(t.Context(), plan))
		if skips := plan.Skips; len(skips) > 0 {
			require.Contains(t, skips[0].Reason, "somebody else's object refers to it")
		}
	}
	left, err := b.PlanRemoval(t.Context())
	require.NoError(t, err)
	require.Len(t, left.Ops, 1)
	require.Equal(t, "label=netloom.a.covered.ingress", left.Ops[0].Name)
	require.NoError(t, target.Client.Delete(t.Context(), group.Kind, group.UUID))
	require.NoError(t, b.Apply(t.Context(), left))
	require.Empty(t, target.DumpOwner(t, "a"))
}
