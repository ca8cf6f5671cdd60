package ovntest

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// ClaimOf reads the record of an owner's claims, false if there is none.
func (g *Target) ClaimOf(t testing.TB, owner string) (string, bool) {
	t.Helper()
	rows := g.rows(t, "NB_Global", "external_ids")
	if len(rows) == 0 {
		return "", false
	}
	value, ok := ovsdb.StringMap(rows[0]["external_ids"])[ovn.KeyClaim+owner]
	return value, ok
}

// SetClaim writes the record of an owner's claims behind every backend's back; nil removes it.
func (g *Target) SetClaim(t testing.TB, owner string, value *string) {
	t.Helper()
	rows := g.rows(t, "NB_Global", "external_ids")
	key := ovn.KeyClaim + owner
	switch {
	case len(rows) == 0 && value != nil:
		g.transact(t, libovsdb.Operation{Op: libovsdb.OperationInsert, Table: "NB_Global", Row: libovsdb.Row{
			"external_ids": ovsdb.Map(map[string]string{key: *value}),
		}})
	case len(rows) > 0 && value != nil:
		g.transact(t, ovsdb.MutateMap("NB_Global", ovsdb.String(rows[0]["_uuid"]), "external_ids", map[string]string{key: *value}, nil))
	case len(rows) > 0:
		g.transact(t, ovsdb.MutateMap("NB_Global", ovsdb.String(rows[0]["_uuid"]), "external_ids", nil, []string{key}))
	}
}

// SaveClaim implements backendtest.Keeper. If there was no row of NB_Global, there is none again, as if the file was lost.
func (g *Target) SaveClaim(t testing.TB, owner string) (restore func()) {
	blank := len(g.rows(t, "NB_Global", "_uuid")) == 0
	was, ok := g.ClaimOf(t, owner)
	return func() {
		t.Helper()
		switch {
		case blank:
			for _, r := range g.rows(t, "NB_Global", "_uuid") {
				g.transact(t, ovsdb.Delete("NB_Global", ovsdb.String(r["_uuid"])))
			}
		case ok:
			g.SetClaim(t, owner, &was)
		default:
			g.SetClaim(t, owner, nil)
		}
		now, is := g.ClaimOf(t, owner)
		require.Equal(t, [2]any{was, ok}, [2]any{now, is})
	}
}
