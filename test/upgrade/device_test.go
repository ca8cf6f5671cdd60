package upgrade_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/test/upgrade"
)

// TestBranchesRepeatAndChange checks that the manifests of a CNF depend on its seed alone, have every kind, and change.
func TestBranchesRepeatAndChange(t *testing.T) {
	address := netip.MustParseAddr("198.18.0.1")
	var all string
	for _, seed := range worlds() {
		b, again := upgrade.NewBranch(seed, 30), upgrade.NewBranch(seed, 30)
		before := string(b.Text(t, address))
		require.Equal(t, before, string(again.Text(t, address)))
		b.Mutate()
		again.Mutate()
		after := string(b.Text(t, address))
		require.Equal(t, after, string(again.Text(t, address)))
		require.NotEqual(t, before, after)
		all += before
	}
	var read int
	for _, r := range v1alpha1.Resources() {
		if r.Kind == "CNFStatus" {
			continue // it configures nothing
		}
		read++
		require.Contains(t, all, "\nkind: "+r.Kind+"\n")
	}
	require.Greater(t, read, 15)
	require.Contains(t, all, "\nkind: NetworkPolicy\n")
}
