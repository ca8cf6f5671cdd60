package section

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
)

func TestNamesAreTheOwners(t *testing.T) {
	a, b := NewNamer("a"), NewNamer("b")
	for _, k := range openwrt.Kinds() {
		seen := map[string]bool{}
		for i := range 1000 {
			name := a.Object(k, fmt.Sprintf("shop/cnf/Kind/shop/x-%d", i), "x-1.y")
			require.NoError(t, openwrt.CheckName(k, name))
			require.False(t, seen[name], "%s: %s is there twice", k, name)
			seen[name] = true
			require.True(t, a.Mine(k, name), name)
			require.False(t, b.Mine(k, name), name)
			require.False(t, a.Note(name), name)
		}
	}
	for _, name := range []string{a.Pending("firewall"), a.Seal("r", "w", "s")} {
		require.NoError(t, openwrt.CheckName(openwrt.Proposals, name))
		require.True(t, a.Note(name))
		require.False(t, b.Note(name))
		require.False(t, a.Mine(openwrt.Proposals, name))
	}
	require.NoError(t, openwrt.CheckConnection(a.Connection("shop/cnf/IpsecSite/shop/hub", "conn-a")))
	require.NotEqual(t, a.Connection("x", "yz"), a.Connection("xy", "z"))
}

// TestNamesThatServicesTake compares names with those that mwan3 and the firewall silently ignore.
func TestNamesThatServicesTake(t *testing.T) {
	n := NewNamer("a")
	require.Len(t, n.Object(openwrt.Policies, "id", "readable"), 15)
	require.Len(t, n.Object(openwrt.PolicyRules, "id", "readable"), 15)
	require.Len(t, n.Object(openwrt.Zones, "id", "readable"), 11)
	require.Len(t, n.Object(openwrt.Routes, "id", strings.Repeat("long", 100)), 5+1+10+1+40)
}

func TestNamesStay(t *testing.T) {
	n := NewNamer("netloom")
	require.Equal(t, "noftnu21bbk", n.Object(openwrt.Zones, "shop/cnf/FirewallZone/shop/lan", "lan"))
	require.Equal(t, "noftn_mie76q1fme_web_1", n.Object(openwrt.Redirects, "shop/cnf/FirewallDNAT/shop/web.1", "web.1"))
}

func FuzzNames(f *testing.F) {
	f.Add("shop/cnf/FirewallRule/shop/x", "x")
	f.Add("", "__")
	f.Add("\xff", "höß\x00.-")
	f.Fuzz(func(t *testing.T, id, readable string) {
		n := NewNamer("a")
		for _, k := range openwrt.Kinds() {
			name := n.Object(k, id, readable)
			if err := openwrt.CheckName(k, name); err != nil || !n.Mine(k, name) || n.Note(name) {
				t.Fatalf("%s: %q of %q: %v", k, name, id, err)
			}
		}
		if err := openwrt.CheckConnection(n.Connection(id, readable)); err != nil {
			t.Fatal(err)
		}
	})
}
