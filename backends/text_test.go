package backends

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plan has an op of every verb, long lists, several origins and two transactions.
func plan() *Plan {
	many := []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"}
	return &Plan{
		Ops: []Op{
			{Verb: Create, Kind: "Address_Set", Name: "web", Origin: "pods app=web", After: Fields{
				"name": "web", "addresses": many, "external_ids": map[string]string{"owner": "a"},
			}},
			{Verb: Create, Kind: "ACL", Name: "shop/db", After: Fields{
				"priority": 1002, "log": false, "meter": "", "options": map[string]string{"b": "2", "a": "1"},
			}},
			{
				Verb: Update, Kind: "ACL", Name: "shop/web", Group: 1, Origin: "NetworkPolicy/shop/web",
				Before: Fields{"severity": "", "external_ids": map[string]string{"k": "v"}},
				After:  Fields{"severity": "alert", "external_ids": map[string]string{"k": "w"}},
			},
			{
				Verb: Mutate, Kind: "Port_Group", Name: "db", Group: 1,
				Before: Fields{"ports": []string{"p1"}}, After: Fields{"ports": many, "acls": []string{"a1"}},
			},
			{Verb: Mutate, Kind: "Address_Set", Name: "db", Group: 1, Before: Fields{"addresses": many[:6]}},
			{Verb: Delete, Kind: "Address_Set", Name: "old", Group: 1, Before: Fields{"name": "old", "addresses": many}},
		},
		Skips: []Skip{{Intent: "NetworkPolicy/shop/odd/ingress", Reason: "spec.ingress[0]: gre has no ports in a match"}},
	}
}

func TestWrite(t *testing.T) {
	for file, color := range map[string]bool{"testdata/plan/want.txt": false, "testdata/plan/want.color.txt": true} {
		var b strings.Builder
		require.NoError(t, plan().Write(&b, color))
		if *update {
			require.NoError(t, os.MkdirAll("testdata/plan", 0o750))
			require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), b.String(), "rewrite with -update")
	}
}

// closed is a writer that accepts nothing.
type closed struct{}

var errClosed = errors.New("closed")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestWriteReportsFailure(t *testing.T) {
	require.ErrorIs(t, plan().Write(closed{}, false), errClosed)
}

func TestCounts(t *testing.T) {
	p := plan()
	require.False(t, p.Empty())
	require.Equal(t, 1, p.Deletes(), "a mutation that removes values is not a delete")
	require.Equal(t, 2, p.Groups())
	require.Equal(t, "6 operations in 2 transactions: create ACL ×1, create Address_Set ×1, delete Address_Set ×1, "+
		"mutate Address_Set ×1, mutate Port_Group ×1, update ACL ×1", p.Summary())
	p.Ops = p.Ops[:1]
	require.Equal(t, "1 operation in 1 transaction: create Address_Set ×1", p.Summary())
	p.Ops = nil
	require.True(t, p.Empty())
	require.Equal(t, "nothing to do", p.Summary())
	require.Zero(t, p.Deletes()+p.Groups())
}

func TestVerbs(t *testing.T) {
	for v, want := range map[Verb]string{Create: "create", Update: "update", Mutate: "mutate", Delete: "delete", 0: "verb(0)"} {
		require.Equal(t, want, v.String())
	}
}
