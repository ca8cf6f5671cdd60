package ovn_test

import (
	"fmt"
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/test/await"
)

// keeping is a rig whose backend keeps the rows of two policies that are missing, and has one policy of its own. It returns the content of
// the database, too.
func keeping(t *testing.T) (*rig, func() map[string]string) {
	t.Helper()
	r := lostRig(t, isolated())
	without := isolated()
	without.Policies = []intent.Policy{deny("new", "only-w")}
	want := without.Snapshot()
	r.backend.Keep([]object.Ref{policyRef("db"), portRef("a"), portRef("b"), portRef("c")})
	p := r.full(t, want)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Len(t, p.Kept, 4)
	require.Empty(t, r.full(t, want).Ops)
	r.others = true
	content := func() map[string]string {
		out := map[string]string{}
		for _, table := range []string{"Port_Group", "ACL", "Address_Set"} {
			rows, err := r.client.Select(t.Context(), table, nil)
			require.NoError(t, err)
			for _, row := range rows {
				for column, value := range row {
					if column != "_version" {
						out[table+" "+ovsdb.String(row["_uuid"])+" "+column] = sortedText(value)
					}
				}
			}
		}
		return out
	}
	return r, content
}

// TestKeptRowsAreRepairedByThemselves has others change rows that are kept, and rows of policies that are there, while some are kept. Each is
// repaired without a read-back, also if it was deleted.
func TestKeptRowsAreRepairedByThemselves(t *testing.T) {
	isolatedGroup := func(t *testing.T, r *rig) libovsdb.Row { return groupRow(t, r, intent.IsolatedIngress) }
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, r *rig) []libovsdb.Operation
	}{
		{"the isolated ports, kept and not", func(t *testing.T, r *rig) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Update("Port_Group", ovsdb.String(isolatedGroup(t, r)["_uuid"]), libovsdb.Row{"ports": ovsdb.UUIDs(nil)})}
		}},
		{"the isolating group is deleted", func(t *testing.T, r *rig) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Delete("Port_Group", ovsdb.String(isolatedGroup(t, r)["_uuid"]))}
		}},
		{"the group of a kept policy is deleted", func(t *testing.T, r *rig) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Delete("Port_Group", ovsdb.String(groupRow(t, r, "db")["_uuid"]))}
		}},
		{"the ACLs of a kept policy", func(t *testing.T, r *rig) []libovsdb.Operation {
			return []libovsdb.Operation{ovsdb.Update("Port_Group", ovsdb.String(groupRow(t, r, "db")["_uuid"]), libovsdb.Row{"acls": ovsdb.UUIDs(nil)})}
		}},
		{"what a kept policy admits", func(t *testing.T, r *rig) []libovsdb.Operation {
			acl := ovsdb.Strings(groupRow(t, r, "db")["acls"])[0]
			return []libovsdb.Operation{ovsdb.Update("ACL", acl, libovsdb.Row{"match": "ip"})}
		}},
		{"the peers of a kept policy", func(t *testing.T, r *rig) []libovsdb.Operation {
			rows, err := r.client.Select(t.Context(), "Address_Set", nil)
			require.NoError(t, err)
			return []libovsdb.Operation{ovsdb.Delete("Address_Set", ovsdb.String(rows[0]["_uuid"]))}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, content := keeping(t)
			before := content()
			r.transact(t, tc.change(t, r)...)
			await.True(t, r.backend.ChangedByOthers, "the change is noticed")
			require.NotEqual(t, before, content())
			p, err := r.backend.Repair(t.Context())
			require.NoError(t, err)
			require.False(t, p.Resync, "it takes a read-back")
			require.NoError(t, r.backend.Apply(t.Context(), p))
			require.Equal(t, before, content(), "%s", text(t, p, ""))
			require.False(t, r.backend.ChangedByOthers())
		})
	}
}

// TestOtherObjectsToKeepTakeAReadBack changes what is to be kept after the last plan.
func TestOtherObjectsToKeepTakeAReadBack(t *testing.T) {
	r, _ := keeping(t)
	r.backend.Keep([]object.Ref{policyRef("db")})
	p, err := r.backend.Repair(t.Context())
	require.NoError(t, err)
	require.True(t, p.Resync)
}

// TestKeptLoadBalancersTakeAReadBack keeps a Service, to which rows of others refer.
func TestKeptLoadBalancersTakeAReadBack(t *testing.T) {
	s := isolated()
	s.LoadBalancers = []intent.LoadBalancer{*web(intent.ClusterAddress, nil)}
	r := lostRig(t, s)
	r.backend.Keep([]object.Ref{{Kind: "Service", Namespace: "shop", Name: "web"}})
	want := (&backendtest.State{Endpoints: s.Endpoints, Sets: s.Sets, Policies: s.Policies}).Snapshot()
	p := r.full(t, want)
	require.Len(t, p.Kept, 1)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	p, err := r.backend.Repair(t.Context())
	require.NoError(t, err)
	require.True(t, p.Resync)
}

// groupRow returns the port group of a set.
func groupRow(t *testing.T, r *rig, set intent.SetID) libovsdb.Row {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "Port_Group", nil)
	require.NoError(t, err)
	for _, row := range rows {
		if ovsdb.StringMap(row["external_ids"])[ovn.KeyID] == string(set) {
			return row
		}
	}
	require.Fail(t, "no group of "+string(set))
	return nil
}

// sortedText formats a value of a column, sets in order.
func sortedText(value any) string {
	if list := ovsdb.Strings(value); len(list) > 1 {
		slices.Sort(list)
		return fmt.Sprint(list)
	}
	if pairs := ovsdb.StringMap(value); len(pairs) > 0 {
		return fmt.Sprint(pairs)
	}
	return fmt.Sprint(value)
}
