package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// guarded is two pods, a NetworkPolicy for one of them, and cluster-wide policies for both.
var guarded = filepath.Join("..", "..", "docs", "commands", "clusterwide.yaml")

func TestClusterWidePoliciesAreExplained(t *testing.T) {
	for _, tc := range []struct{ object, want string }{
		{"cnp/lockdown", `clusternetworkpolicy lockdown
  tier admin, priority 20
note: spec.egress[2] "too-late" never matches at present: what it matches is decided before by ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"

egress: applies to all pods in all namespaces: shop/db, shop/web
`},
		{"banp/default", "baselineadminnetworkpolicy default\n  tier baseline\n\ningress: applies to"},
		{"pod/shop/web", `
ingress: no policy isolates it
  after NetworkPolicies, tier baseline: BaselineAdminNetworkPolicy/default
`},
		{"pod/shop/db", `
ingress: isolated by NetworkPolicy/shop/db
  not evaluated because it is isolated, tier baseline: BaselineAdminNetworkPolicy/default
`},
		{"pod/shop/web", "\negress: no policy isolates it\n  before NetworkPolicies, tier admin: ClusterNetworkPolicy/lockdown (20)\n"},
	} {
		got := netloom(t, "explain", "-f", guarded, tc.object)
		require.Equal(t, exitDone, got.code, got.errout)
		require.Contains(t, got.out, tc.want)
	}
	got := netloom(t, "explain", "-f", guarded, "cnp/lockdown")
	require.Regexp(t, `(?m)^  spec.egress\[0\] +no-ssh +deny +tcp/22 +10.0.0.0/8$`, got.out)
	require.Regexp(t, `(?m)^  spec.egress\[0\] +[0-9]+ +drop .*ip4.dst == 10.0.0.0/8`, got.out)
	require.NotRegexp(t, `(?m)^  spec.* pass .*outport`, got.out, "the rows are those of a database without tiers")
	require.Equal(t, "clusternetworkpolicy/lockdown\n:4\n", netloom(t, "__complete", "explain", "-f", guarded, "cluster").out)
}

func TestClusterWidePoliciesAreTranslated(t *testing.T) {
	text := netloom(t, "translate", "-f", guarded).out
	require.Regexp(t, `(?m)^TIER +PRIORITY +POLICY +DIRECTION +PODS +ACTION +PORTS +PEERS$`, text)
	require.Regexp(t, `(?m)^admin +20 +ClusterNetworkPolicy/lockdown +egress +2 +deny +tcp/22 +10.0.0.0/8$`, text)
	require.Regexp(t, `(?m)^ +pass +any +all pods`, text)
	require.Regexp(t, `(?m)^baseline +1001 +BaselineAdminNetworkPolicy/default +ingress +2 +deny +tcp/80 `, text)
	require.Regexp(t, `(?s)lockdown.*default.*\nPOLICY +DIRECTION +PODS +PORTS +PEERS\nNetworkPolicy/shop/db`, text)
}

// TestProbeShowsTheTier asks why connections pass and do not, and what would change it.
func TestProbeShowsTheTier(t *testing.T) {
	for _, tc := range []struct{ question, want string }{
		{"shop/web->shop/db:22", `  egress   deny    admin tier: Deny by ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"
`},
		{"shop/web->shop/db:22", `  to allow it:
    - egress of shop/web: allow or pass it in a rule before ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"
`},
		{"shop/db->shop/web:80", `  ingress  deny    baseline tier: Deny by BaselineAdminNetworkPolicy/default spec.ingress[0] "closed"
  to allow it:
    - ingress of shop/web: allow or pass it in a rule before BaselineAdminNetworkPolicy/default spec.ingress[0] "closed"
`},
		{"shop/db->shop/web:81", `  egress   allow   no other policy decides
           passed by ClusterNetworkPolicy/lockdown spec.egress[1] "shop-decides"
`},
	} {
		require.Contains(t, netloom(t, "probe", "-f", guarded, tc.question).out, tc.want)
	}
}

// TestImpactOfAClusterWidePolicy compares the shop without a policy and with it.
func TestImpactOfAClusterWidePolicy(t *testing.T) {
	got := netloom(t, "impact", "-f", guarded, "--without", "clusternetworkpolicy/lockdown")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Regexp(t, `(?m)shop/db, shop/web -> shop/web and outside.*tcp/22`, got.out)
}

// TestRowsOfAClusterWidePolicyLeadToIt asks a database for the row of a rule.
func TestRowsOfAClusterWidePolicyLeadToIt(t *testing.T) {
	server := database(t)
	require.NoError(t, server.AddPort("sw", "shop_web", nil))
	require.NoError(t, server.AddPort("sw", "shop_db", nil))
	nb := []string{"--ovn-nb", server.Addr()}
	got := netloom(t, append([]string{"apply", "--manifests", guardedDir(t)}, nb...)...)
	require.Equal(t, exitDone, got.code, got.errout)
	got = netloom(t, append([]string{"explain", "row", "lockdown egress[0]"}, nb...)...)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^ACL lockdown egress\[0\]  [0-9a-f-]{36}$`, got.out)
	require.Contains(t, got.out, "\n  needed by ClusterNetworkPolicy/lockdown spec.egress[0]\n    action: drop\n")
}

// guardedDir is a directory with guarded alone.
func guardedDir(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guarded)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), text, 0o600))
	return dir
}
