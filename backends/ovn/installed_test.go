package ovn_test

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
)

// progress sets columns of NB_Global, as ovn-northd does.
func (r *rig) progress(t *testing.T, columns libovsdb.Row) {
	t.Helper()
	_, err := r.client.Transact(t.Context(), []libovsdb.Operation{{Op: "update", Table: "NB_Global", Where: []libovsdb.Condition{}, Row: columns}})
	require.NoError(t, err)
}

// TestWhatIsInstalled checks what is known from the numbers of NB_Global, and who is waited for.
func TestWhatIsInstalled(t *testing.T) {
	r := newRig(t, ovn.DefaultPortNames)
	_, err := r.backend.Mark(t.Context())
	require.ErrorContains(t, err, "ovn-northd has not run yet")
	_, err = r.backend.Installed(t.Context())
	require.ErrorContains(t, err, "ovn-northd has not run yet")

	r.setGlobals(t, nil)
	for want := range uint64(3) {
		mark, err := r.backend.Mark(t.Context())
		require.NoError(t, err)
		require.Equal(t, want+1, mark)
	}
	for _, tc := range []struct {
		name    string
		columns libovsdb.Row
		want    backends.Installation
	}{
		{"northd is behind", libovsdb.Row{"sb_cfg": 2, "hv_cfg": 1}, backends.Installation{Through: 1, Newest: 3, Waits: "ovn-northd: nb_cfg is 3, sb_cfg 2"}},
		{
			"a chassis is behind",
			libovsdb.Row{"sb_cfg": 3, "hv_cfg": 2},
			backends.Installation{Through: 2, Newest: 3, Waits: "ovn-controller on at least one chassis: nb_cfg is 3, hv_cfg 2"},
		},
		{"everything is installed", libovsdb.Row{"hv_cfg": 3}, backends.Installation{Through: 3, Newest: 3}},
		{"the database was restored", libovsdb.Row{"nb_cfg": 1}, backends.Installation{Through: 1, Newest: 1}},
	} {
		r.progress(t, tc.columns)
		got, err := r.backend.Installed(t.Context())
		require.NoError(t, err)
		require.Equal(t, tc.want, got, tc.name)
	}
}
