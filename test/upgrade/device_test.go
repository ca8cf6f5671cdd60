package upgrade_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

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
	for _, kind := range []string{
		"CNFNAT", "CNFRoute", "CNFRouteRule", "FirewallDNAT", "FirewallForwarding", "FirewallRule", "FirewallSNAT", "FirewallZone",
		"IpsecProposal", "IpsecSite", "Mwan3Policy", "Mwan3Rule", "NetworkFirewallRule", "NetworkPolicy",
	} {
		require.Contains(t, all, "\nkind: "+kind+"\n")
	}
}
