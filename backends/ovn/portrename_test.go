package ovn_test

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/test/await"
)

// rename gives logical ports other names in one transaction: what follows each name is its new one.
func (r *rig) rename(t testing.TB, names ...string) {
	t.Helper()
	var ops []libovsdb.Operation
	want := map[string]string{}
	for i := 0; i < len(names); i += 2 {
		uuid, ok := r.client.Port(names[i])
		require.True(t, ok, names[i])
		want[uuid] = names[i+1]
		ops = append(ops, ovsdb.Update("Logical_Switch_Port", uuid, libovsdb.Row{"name": names[i+1]}))
	}
	_, err := r.server.Transact(ops...)
	require.NoError(t, err)
	await.True(t, func() bool {
		for uuid, name := range want {
			if is, _ := r.client.PortName(uuid); is != name {
				return false
			}
		}
		return true
	}, "the client knows the new names")
}

// TestRenamedPorts changes the names of logical ports in place: each group has the ports of its members at the next plan,
// without a read-back.
func TestRenamedPorts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rename []string
		next   []string // members afterwards; nil are those from before
		want   []string
	}{
		{name: "to an unused name", rename: []string{"shop_a", "shop_z"}, want: []string{"shop_b"}},
		{name: "to the name of a member", rename: []string{"shop_x", "shop_a", "shop_a", "shop_y"}, want: []string{"shop_a", "shop_b"}},
		{name: "a member and another port swap", rename: []string{"shop_a", "shop_x", "shop_x", "shop_a"}, want: []string{"shop_a", "shop_b"}},
		{name: "two members swap", rename: []string{"shop_a", "shop_b", "shop_b", "shop_a"}, want: []string{"shop_a", "shop_b"}},
		{
			name:   "three names go round",
			rename: []string{"shop_a", "shop_b", "shop_b", "shop_x", "shop_x", "shop_a"}, want: []string{"shop_a", "shop_b"},
		},
		{
			name:   "two members swap and one leaves the set",
			rename: []string{"shop_a", "shop_b", "shop_b", "shop_a"}, next: []string{"b"}, want: []string{"shop_b"},
		},
		{
			name:   "a member and another port swap and the member leaves",
			rename: []string{"shop_a", "shop_x", "shop_x", "shop_a"}, next: []string{"b"}, want: []string{"shop_b"},
		},
		{
			name:   "a port gets the name of a pod that joins",
			rename: []string{"shop_a", "shop_c"}, next: []string{"a", "b", "c"}, want: []string{"shop_b", "shop_c"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "ovn-kubernetes")
			for _, name := range []string{"shop_a", "shop_b", "shop_x"} {
				r.addPort(t, name, nil)
			}
			snap := shop("a", "b").Snapshot()
			r.reconcile(t, snap)
			requireGroup(t, r, []string{"shop_a", "shop_b"})
			r.rename(t, tc.rename...)
			if tc.next != nil {
				snap = backendtest.Advance(snap, shop(tc.next...))
			}
			require.False(t, r.reconcile(t, snap).Full)
			requireGroup(t, r, tc.want)
			r.requireSettled(t, snap)
		})
	}
}

// TestRenamedTwiceBetweenTwoPlans gives a port a name that no plan saw, and then its own name again.
func TestRenamedTwiceBetweenTwoPlans(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	r.addPort(t, "shop_b", nil)
	snap := shop("a").Snapshot()
	r.reconcile(t, snap)
	r.rename(t, "shop_a", "shop_b", "shop_b", "shop_a")
	r.rename(t, "shop_a", "shop_b", "shop_b", "shop_a")
	r.reconcile(t, snap)
	requireGroup(t, r, []string{"shop_a"})
	r.requireSettled(t, snap)

	r.rename(t, "shop_a", "shop_q")
	r.rename(t, "shop_q", "shop_r")
	r.reconcile(t, snap)
	requireGroup(t, r, []string{})
	r.requireSettled(t, snap)
}
