package ovn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// TestNotesOfKeptACLs keeps an ACL that is no longer wanted, and looks at what is noted about it.
func TestNotesOfKeptACLs(t *testing.T) {
	const kept, gone = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	row := func(table, uuid string, ids map[string]string) *nb.Row {
		return &nb.Row{Table: table, UUID: uuid, Fields: backends.Fields{nb.ColumnExternalIDs: ids}}
	}
	notes := func(also map[string]string) *nb.Row {
		also[nb.KeyID] = notesPrefix + "s"
		return row(nb.TableAddressSet, "n", also)
	}
	for _, tc := range []struct {
		name       string
		want, have nb.Rows
		noted      map[string]string
	}{
		{"no other note is wanted", nb.Rows{}, nb.Rows{"n": notes(map[string]string{kept: "a"})}, map[string]string{kept: "a"}},
		{
			"another note is wanted",
			nb.Rows{"n": notes(map[string]string{"new": "b"})},
			nb.Rows{"n": notes(map[string]string{kept: "a", gone: "c"})},
			map[string]string{kept: "a", "new": "b"},
		},
		{"nothing is noted about it", nb.Rows{}, nb.Rows{"n": notes(map[string]string{gone: "c"})}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			acl := row(nb.TableACL, kept, nil)
			tc.want[kept], tc.have[kept] = acl, acl
			tc.have[gone] = row(nb.TableACL, gone, nil)
			(&lost{want: tc.want, have: tc.have}).keepNotes()
			noted := map[string]string{}
			for key, also := range idsOf(tc.want["n"]) {
				if key != nb.KeyID {
					noted[key] = also
				}
			}
			if tc.noted == nil {
				require.Nil(t, tc.want["n"])
				return
			}
			require.Equal(t, tc.noted, noted)
		})
	}
}

func idsOf(r *nb.Row) map[string]string {
	if r == nil {
		return nil
	}
	return r.ExternalIDs()
}
