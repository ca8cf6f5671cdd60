package ovn_test

import (
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// acls are the rows of rules that allow, in the order of their UUIDs.
func (r *rig) acls(t *testing.T) []libovsdb.Row {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "ACL", nil, "_uuid", "action", "name", "match", "external_ids")
	require.NoError(t, err)
	rows = slices.DeleteFunc(rows, func(row libovsdb.Row) bool {
		return ovsdb.StringMap(row["external_ids"])[ovn.KeyRule] == ""
	})
	slices.SortFunc(rows, func(a, b libovsdb.Row) int {
		return strings.Compare(ovsdb.String(a["_uuid"]), ovsdb.String(b["_uuid"]))
	})
	return rows
}

// notesOf returns what is noted about the policy of a name in the namespace shop, without the UUIDs of ACLs.
func (r *rig) notesOf(t *testing.T, name string) string {
	t.Helper()
	note := r.notes(t)["shop"]["NetworkPolicy/shop/"+name+"/ingress"]
	for _, acl := range r.acls(t) {
		note = strings.ReplaceAll(note, ovsdb.String(acl["_uuid"])+" ", "")
	}
	return note
}

// TestNotesOfEarlierVersions has an ACL note its further rules itself, as earlier versions wrote it.
func TestNotesOfEarlierVersions(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	both := shop("a")
	both.Policies = append(both.Policies, admit("zz", "db", "web", 5432))
	snap := both.Snapshot()
	r.reconcile(t, snap)
	before := r.server.Dump("ACL", "Address_Set", "Port_Group")
	acl := r.acls(t)[0]
	ids := ovsdb.StringMap(acl["external_ids"])
	ids[nb.KeyAlso] = "NetworkPolicy/shop/zz " + r.notesOf(t, "zz")
	for _, row := range requireRows(t, r, "Address_Set") {
		if strings.HasPrefix(ovsdb.StringMap(row["external_ids"])[ovn.KeyID], "policies/") {
			_, err := r.server.Transact(ovsdb.Delete("Address_Set", ovsdb.String(row["_uuid"])))
			require.NoError(t, err)
		}
	}
	_, err := r.server.Transact(ovsdb.Update("ACL", ovsdb.String(acl["_uuid"]), libovsdb.Row{"external_ids": ovsdb.Map(ids)}))
	require.NoError(t, err)

	of := object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "zz"}
	rows, err := r.backend.ReadRows(t.Context(), of)
	require.NoError(t, err)
	require.NotEmpty(t, rows, "they are still read")
	p, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.Len(t, p.Ops, 2, text(t, p, ""))
	require.Equal(t, backends.Create, p.Ops[0].Verb)
	require.Equal(t, backends.Update, p.Ops[1].Verb, "the ACL stays")
	require.Zero(t, p.Ops[1].Group, "in one transaction")
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Equal(t, before, r.server.Dump("ACL", "Address_Set", "Port_Group"))
	now, err := r.backend.ReadRows(t.Context(), of)
	require.NoError(t, err)
	require.Equal(t, rows, now)
}

func requireRows(t *testing.T, r *rig, table string) []libovsdb.Row {
	t.Helper()
	rows, err := r.client.Select(t.Context(), table, nil)
	require.NoError(t, err)
	return rows
}

// TestEqualRulesShareARow has two policies say the same: one row, that names both for as long as both do.
func TestEqualRulesShareARow(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	both := shop("a")
	twice := admit("zz", "db", "web", 5432)
	twice.Rules = append(twice.Rules, twice.Rules[0])
	both.Policies = append(both.Policies, twice)
	snap := both.Snapshot()
	r.reconcile(t, snap)
	rows := r.acls(t)
	require.Len(t, rows, 1)
	ids := ovsdb.StringMap(rows[0]["external_ids"])
	require.Equal(t, "db", ids[ovn.KeyName])
	require.Equal(t, "spec.ingress[0]", r.notesOf(t, "zz"))
	require.Empty(t, r.notesOf(t, "db"))

	db, zz := both.Policies[0], both.Policies[1]
	again := db
	again.Created = zz.Created + 1
	for _, step := range []struct {
		does     string
		policies []intent.Policy
		name     string
		noted    string // the policy about which something is noted
		want     []string
	}{
		{"the younger one goes", []intent.Policy{db}, "db", "", []string{"delete Address_Set"}},
		{"it comes back", both.Policies, "db", "zz", []string{"create Address_Set"}},
		{"the older one goes", []intent.Policy{zz}, "zz", "", []string{"update ACL", "delete Address_Set"}},
		{"it comes back and is the younger one", []intent.Policy{again, zz}, "zz", "db", []string{"create Address_Set"}},
	} {
		next := *both
		next.Policies = step.policies
		snap = backendtest.Advance(snap, &next)
		p := r.reconcile(t, snap)
		require.False(t, p.Full)
		var did []string
		for i := range p.Ops {
			did = append(did, p.Ops[i].Verb.String()+" "+p.Ops[i].Kind)
		}
		require.Equal(t, step.want, did, step.does)
		now := r.acls(t)
		require.Len(t, now, 1)
		require.Equal(t, rows[0]["_uuid"], now[0]["_uuid"], "the row stands")
		require.Equal(t, rows[0]["match"], now[0]["match"])
		ids := ovsdb.StringMap(now[0]["external_ids"])
		require.Equal(t, step.name, ids[ovn.KeyName])
		for _, name := range []string{"db", "zz"} {
			require.Equal(t, name == step.noted, r.notesOf(t, name) == "spec.ingress[0]", name)
		}
		require.Equal(t, "shop/"+step.name+" ingress[0]", ovsdb.String(now[0]["name"]))
		r.requireSettled(t, snap)
	}
	none := *both
	none.Policies = nil
	snap = backendtest.Advance(snap, &none)
	r.reconcile(t, snap)
	require.Empty(t, r.acls(t))
	r.requireSettled(t, snap)
}

// TestACLsThatLeftTheirGroupComeBack takes ACLs out of their group behind the backend's back: the database removes rows
// that no other row refers to.
func TestACLsThatLeftTheirGroupComeBack(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	snap := shop("a").Snapshot()
	r.reconcile(t, snap)
	before := r.server.Dump("ACL", "Address_Set", "Port_Group")
	groups, err := r.client.Select(t.Context(), "Port_Group", nil, "_uuid", "acls")
	require.NoError(t, err)
	require.Len(t, groups, 2)
	for _, g := range groups {
		acls := ovsdb.Strings(g["acls"])
		harm := ovsdb.MutateSet("Port_Group", ovsdb.String(g["_uuid"]), "acls", nil, []libovsdb.UUID{{GoUUID: acls[0]}})
		_, err := r.server.Transact(harm)
		require.NoError(t, err)
		p, err := r.backend.Plan(t.Context(), snap, 0)
		require.NoError(t, err)
		require.Len(t, p.Ops, 2, text(t, p, ""))
		require.Equal(t, backends.Create, p.Ops[0].Verb)
		require.Equal(t, backends.Mutate, p.Ops[1].Verb)
		require.NoError(t, r.backend.Apply(t.Context(), p))
		require.Equal(t, before, r.server.Dump("ACL", "Address_Set", "Port_Group"))
	}
}

// TestGroupsThatWentComeBack deletes a port group, which takes its ACLs along.
func TestGroupsThatWentComeBack(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	snap := shop("a").Snapshot()
	r.reconcile(t, snap)
	before := r.server.Dump("ACL", "Address_Set", "Port_Group")
	groups, err := r.client.Select(t.Context(), "Port_Group", nil, "_uuid")
	require.NoError(t, err)
	for _, g := range groups {
		_, err := r.server.Transact(ovsdb.Delete("Port_Group", ovsdb.String(g["_uuid"])))
		require.NoError(t, err)
	}
	require.Empty(t, r.acls(t))

	t.Run("a change of members notices", func(t *testing.T) {
		r.addPort(t, "shop_b", nil)
		moved := backendtest.Advance(snap, shop("a", "b"))
		p := r.plan(t, moved)
		require.False(t, p.Full)
		require.ErrorIs(t, r.backend.Apply(t.Context(), p), ovn.ErrDrift)
		snap = backendtest.Advance(moved, shop("a"))
	})
	p := r.reconcile(t, snap)
	require.True(t, p.Full, "after an error everything is read back, whatever revision is named")
	require.Equal(t, before, r.server.Dump("ACL", "Address_Set", "Port_Group"))
	r.requireSettled(t, snap)
}

// TestPlansNameRowsConsistently checks that the source of a row is the same when it is deleted as when it was created.
func TestPlansNameRowsConsistently(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	s := shop("a")
	s.Policies[0].Log = intent.Logging{Allow: intent.SeverityInfo, Deny: intent.SeverityAlert, Rate: 5}
	s.Policies = append(s.Policies, intent.Policy{
		ID: "east/Node/n1/ingress", Origin: intent.Origin{Cluster: "east", Kind: "Node", Name: "n1"}, Subject: "db",
		Rules: []intent.Rule{{
			Path: "status.addresses", Action: intent.Allow, Ports: intent.Ports{Any: true}, Peer: intent.Peer{Kind: intent.PeerAny},
		}},
	})
	snap := s.Snapshot()
	came := origins(r.reconcile(t, snap), backends.Create)
	require.NotEmpty(t, came)
	p, err := r.backend.Plan(t.Context(), intent.NewSnapshot(), 0)
	require.NoError(t, err)
	require.Equal(t, came, origins(p, backends.Delete))
}

func origins(p *backends.Plan, verb backends.Verb) []string {
	var out []string
	for i := range p.Ops {
		if op := &p.Ops[i]; op.Verb == verb {
			out = append(out, op.Kind+" "+op.Name+": "+op.Origin)
		}
	}
	slices.Sort(out)
	return out
}

// TestRowsWithoutTheirMarkAreAdopted takes the owner's mark off every row: nothing is recognised then, the first write
// meets a row that is there, and the next plan takes them all back.
func TestRowsWithoutTheirMarkAreAdopted(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	snap := shop("a").Snapshot()
	r.reconcile(t, snap)
	for _, table := range []string{"ACL", "Address_Set", "Port_Group"} {
		rows, err := r.client.Select(t.Context(), table, nil, "_uuid")
		require.NoError(t, err)
		for _, row := range rows {
			_, err := r.client.Transact(t.Context(), []libovsdb.Operation{
				ovsdb.Update(table, ovsdb.String(row["_uuid"]), libovsdb.Row{"external_ids": ovsdb.Map(nil)}),
			})
			require.NoError(t, err)
		}
	}
	p, err := r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.True(t, ovsdb.IsDuplicate(r.backend.Apply(t.Context(), p)))
	p, err = r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	for i := range p.Ops {
		require.Contains(t, []backends.Verb{backends.Update, backends.Mutate}, p.Ops[i].Verb)
	}
	require.NoError(t, r.backend.Apply(t.Context(), p))
	p, err = r.backend.Plan(t.Context(), snap, 0)
	require.NoError(t, err)
	require.True(t, p.Empty())
}
