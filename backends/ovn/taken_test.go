package ovn_test

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// TestTakenNames has somebody else give their rows the names that ours would have: of a table's rows only one can have a name. Nothing
// waits for that: ours get other names, and keep them over a restart.
func TestTakenNames(t *testing.T) {
	state := shop("a", "b")
	state.Policies[0].Log = intent.Logging{Deny: intent.SeverityInfo, Rate: 7}
	snap := backendtest.Advance(intent.NewSnapshot(), state)
	names := func(r *rig) (out []libovsdb.Operation) {
		for _, table := range []string{"Port_Group", "Address_Set", "Meter"} {
			rows, err := r.client.Select(t.Context(), table, nil, "name", "bands")
			require.NoError(t, err)
			require.NotEmpty(t, rows, table)
			for _, row := range rows {
				squat := libovsdb.Row{"name": ovsdb.String(row["name"])}
				if table == "Meter" {
					squat["unit"], squat["bands"] = "pktps", ovsdb.UUIDs(ovsdb.Strings(row["bands"]))
				}
				out = append(out, libovsdb.Operation{Op: "insert", Table: table, Row: squat})
			}
		}
		return out
	}
	ports := func(r *rig) {
		for _, name := range []string{"shop.a", "shop.b", "shop.c", "shop.w"} {
			r.addPort(t, name, nil)
		}
	}
	first := newRig(t, "{namespace}.{pod}")
	ports(first)
	first.reconcile(t, snap)
	squats := names(first)

	r := newRig(t, "{namespace}.{pod}")
	ports(r)
	for _, squat := range squats {
		if squat.Table == "Meter" {
			squat.Row["bands"] = ovsdb.UUIDs([]string{"11111111-2222-4333-8444-555555555555"})
			r.transact(t, ovsdb.Insert("Meter_Band", "11111111-2222-4333-8444-555555555555", libovsdb.Row{"action": "drop", "rate": 1}), squat)
			continue
		}
		r.transact(t, squat)
	}
	converge := func(want *intent.Snapshot) {
		t.Helper()
		for range 3 {
			p, err := r.backend.Plan(t.Context(), want, r.reached)
			require.NoError(t, err)
			if err = r.backend.Apply(t.Context(), p); err == nil {
				r.reached = want.Revision()
				r.requireSettled(t, want)
				return
			}
			require.True(t, ovsdb.IsDuplicate(err), "%v", err)
			require.Zero(t, r.inForce(t), "nothing is enforced yet")
			r.reached = 0
		}
		require.Fail(t, "the target is blocked")
	}
	converge(snap)
	require.Equal(t, 2, r.inForce(t))
	members, ok := r.groupPorts(t, intent.IsolatedIngress)
	require.True(t, ok)
	require.Equal(t, []string{"shop.a", "shop.b"}, members)
	rows, err := r.backend.ReadRows(t.Context(), object.Ref{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"})
	require.NoError(t, err)
	require.NotEmpty(t, rows)

	r.restart(t, "{namespace}.{pod}", func(o *ovn.Options) { o.MaxDeleteFraction = 1 })
	converge(backendtest.Advance(intent.NewSnapshot(), state))
	require.Equal(t, 2, r.inForce(t))

	t.Log("a name is taken later")
	more := shop("a", "b", "c")
	more.Sets = append(more.Sets, backendtest.SetSpec{ID: "late", Keys: []object.Key{{Namespace: "shop", Name: "c"}}})
	more.Policies = append(more.Policies, admit("late", "late", "web", 80))
	other := newRig(t, "{namespace}.{pod}")
	ports(other)
	other.reconcile(t, backendtest.Advance(intent.NewSnapshot(), more))
	known := map[string]bool{}
	for _, squat := range squats {
		known[squat.Row["name"].(string)] = true
	}
	next, err := other.client.Select(t.Context(), "Port_Group", nil, "name")
	require.NoError(t, err)
	for _, row := range next {
		if name := ovsdb.String(row["name"]); !known[name] {
			r.transact(t, libovsdb.Operation{Op: "insert", Table: "Port_Group", Row: libovsdb.Row{"name": name}})
		}
	}
	r.reached = 0
	base := backendtest.Advance(intent.NewSnapshot(), state)
	converge(base)
	p, err := r.backend.Plan(t.Context(), backendtest.Advance(base, more), r.reached)
	require.NoError(t, err)
	require.Error(t, r.backend.Apply(t.Context(), p))
	p, err = r.backend.Plan(t.Context(), backendtest.Advance(base, more), 0)
	require.NoError(t, err)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	members, ok = r.groupPorts(t, "late")
	require.True(t, ok)
	require.Equal(t, []string{"shop.c"}, members)
}
