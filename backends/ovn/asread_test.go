package ovn_test

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/test/await"
)

// inForce counts the endpoints that the target protects, as of the last plan.
func (r *rig) inForce(t testing.TB) int {
	t.Helper()
	c, ok := backends.InForceOf(r.backend)
	require.True(t, ok)
	require.Equal(t, 2, c.Selected)
	return c.Enforced()
}

// TestCoverageLooksAtRows has another client spoil rows, and counts the pods that are protected until a plan is applied.
func TestCoverageLooksAtRows(t *testing.T) {
	r := newRig(t, "{namespace}.{pod}")
	for _, name := range []string{"shop.a", "shop.b", "shop.w"} {
		r.addPort(t, name, nil)
	}
	snap := backendtest.Advance(intent.NewSnapshot(), shop("a", "b"))
	p := r.plan(t, snap)
	require.Zero(t, r.inForce(t), "nothing is written yet")
	require.Equal(t, 2, r.coverage(t).Enforced(), "of the plan")
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Equal(t, 2, r.inForce(t))

	g := &guarded{other: r.connect(t, ovn.PortNames{})}
	group := func(id string) string {
		rows, err := g.other.Select(t.Context(), "Port_Group", ovsdb.WithExternalID(map[string]string{"netloom.io/id": id}), "_uuid")
		require.NoError(t, err)
		require.Len(t, rows, 1)
		return ovsdb.String(rows[0]["_uuid"])
	}
	port := func(name string) libovsdb.UUID {
		uuid, ok := r.client.Port(name)
		require.True(t, ok)
		return libovsdb.UUID{GoUUID: uuid}
	}
	drops := []libovsdb.Condition{{Column: "action", Function: libovsdb.ConditionEqual, Value: "drop"}}
	for _, tc := range []struct {
		name string
		op   libovsdb.Operation
		left int // of two pods
	}{
		{"one port is taken out", ovsdb.MutateSet("Port_Group", group("isolated/ingress"), "ports", nil, []libovsdb.UUID{port("shop.a")}), 1},
		{"all ports are", ovsdb.Update("Port_Group", group("isolated/ingress"), libovsdb.Row{"ports": ovsdb.UUIDs(nil)}), 0},
		{"the group is deleted", ovsdb.Delete("Port_Group", group("isolated/ingress")), 0},
		{"the denying ACL allows", libovsdb.Operation{Op: "update", Table: "ACL", Row: libovsdb.Row{"action": "allow"}, Where: drops}, 0},
		{"its match is another", libovsdb.Operation{Op: "update", Table: "ACL", Row: libovsdb.Row{"match": "0"}, Where: drops}, 0},
		{"it is taken out of its group", ovsdb.Update("Port_Group", group("isolated/ingress"), libovsdb.Row{"acls": ovsdb.UUIDs(nil)}), 0},
		{"a group that only allows loses its ports", ovsdb.Update("Port_Group", group("db"), libovsdb.Row{"ports": ovsdb.UUIDs(nil)}), 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g.do(t, tc.op)
			p, err := r.backend.Plan(t.Context(), snap, 0)
			require.NoError(t, err)
			require.Equal(t, tc.left, r.inForce(t))
			require.NoError(t, r.backend.Apply(t.Context(), p))
			require.Equal(t, 2, r.inForce(t))

			g.do(t, tc.op)
			await.True(t, r.backend.ChangedByOthers, "the change is noticed")
			f := r.backend.Foreign()
			opened := 2 // a group that is not intact may protect nobody
			if tc.left == 2 {
				opened = 0
			}
			require.Equal(t, opened, f.Opened().Len())
			p, err = r.backend.Repair(t.Context())
			require.NoError(t, err)
			require.NoError(t, r.backend.Apply(t.Context(), p))
		})
	}
}
