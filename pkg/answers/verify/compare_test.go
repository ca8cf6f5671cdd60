package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// TestFindsExactlyTheKnownMistakes compares databases as controllers wrote them, and copies with a mistake planted by hand, with
// their policies. What is wrong with each was found by evaluating every ACL for 9,504 connections, and compared with ovn-trace.
func TestFindsExactlyTheKnownMistakes(t *testing.T) {
	for _, tc := range []struct {
		controller, database string
		wantPods             int
		wantProbes           int // of 9,504
	}{
		{"ovn-kubernetes", "nb", 12, 128},
		{"ovn-kubernetes", "nb-broken-1", 12, 128 + 8},
		{"ovn-kubernetes", "nb-broken-2", 12, 128 + 8},
		{"ovn-kubernetes", "nb-broken-3", 12, 128 + 1},
		{"ovn-kubernetes", "nb-broken-4", 12, 128 + 226},
		{"ovn-kubernetes", "nb-broken-5", 12, 128 + 26},
		{"ovn-kubernetes-2node", "nb", 7, 128},
		{"kube-ovn", "nb", 12, 8},
		{"kube-ovn", "nb-broken-1", 12, 8 + 4},
		{"kube-ovn", "nb-broken-2", 12, 8 + 9},
		{"kube-ovn", "nb-broken-3", 12, 8 + 26},
	} {
		t.Run(tc.controller+"/"+tc.database, func(t *testing.T) {
			state, rows := load(t, tc.controller, tc.database)
			report := verify.Compare(state, rows)
			require.Empty(t, report.Unknown)
			require.Empty(t, report.Invalid)
			require.Equal(t, tc.wantPods, report.Pods)
			p := newProbes(state)
			want := p.expand(t, known(t, tc.controller, "nb"))
			if tc.database != "nb" {
				want = slices.Concat(want, p.expand(t, known(t, tc.controller, tc.database)))
				slices.Sort(want)
			}
			require.Equal(t, want, p.hit(t, report.Findings))
			require.Len(t, want, tc.wantProbes)
			require.Equal(t, len(report.Findings), report.Opens+report.Closes)
			for _, f := range report.Findings {
				if unprobed := len(f.From.Pods) == 0 && len(p.ends(&f.From)) == 0; unprobed { // addresses that no probe has
					require.Equal(t, []string{"shop/db-a"}, f.To.Pods)
				} else {
					require.NotEmpty(t, p.hit(t, []*verify.Finding{f}), "invented: %+v", f)
				}
				require.NotEmpty(t, f.ACLs, f)
				require.NotEmpty(t, f.Policies, f)
			}
		})
	}
}

// known reads what is wrong with a database: in nb what the controller gets wrong, in others what was planted.
func known(t *testing.T, controller, database string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", controller, database+".txt"))
	require.NoError(t, err)
	return string(text)
}

// TestNamesTheACLAndThePolicy looks for the planted mistakes by the row that was changed, and the object it was written for.
func TestNamesTheACLAndThePolicy(t *testing.T) {
	for _, tc := range []struct {
		controller, database, example string
		wantACL, wantOrigin           string // of the decision; "" is none
		wantPolicy                    string
	}{
		{
			"ovn-kubernetes", "nb-broken-1", "opens: ops/client-a (10.16.1.32) -> shop/web-a (10.16.0.11) tcp/8000",
			"7e8a3a69-b640-4ef0-840b-c139331d825f", "NetworkPolicy/shop/web-from-ops-range", "NetworkPolicy/shop/web-from-ops-range",
		},
		{
			"ovn-kubernetes", "nb-broken-2", "closes: ops/job-a (10.16.0.32) -> shop/web-a (10.16.0.11) tcp/8080",
			"a4f9a952-81a5-4360-ab0c-df1e90add822", "Namespace/shop", "NetworkPolicy/shop/web-from-ops-range",
		},
		{
			"ovn-kubernetes", "nb-broken-3", "opens: ops/job-a (10.16.0.32) -> shop/db-a (10.16.0.13) tcp/5432",
			"", "NetworkPolicy/shop/db-from-back-not-web", "NetworkPolicy/shop/db-from-back-not-web",
		},
		{
			"ovn-kubernetes", "nb-broken-4", "opens: ops/client-a (10.16.1.32) -> shop/db-a (10.16.0.13) tcp/1",
			"37e371e0-e66a-4970-8342-ac2e8dff6d6d", "BaselineAdminNetworkPolicy/default", "NetworkPolicy/shop/deny-ingress",
		},
		{
			"ovn-kubernetes", "nb-broken-5", "closes: ops/client-a (10.16.1.32) -> pay/dns-a (10.16.0.22) tcp/53",
			"2f0da5aa-bfe9-40bc-b242-5cd437c444bc", "Namespace/pay", "NetworkPolicy/pay/dns-from-all",
		},
		{
			"ovn-kubernetes", "nb", "opens: shop/api-a (10.16.0.12) -> shop/web-a (10.16.0.11) tcp/1",
			"5a9bb661-8ae2-4d3b-87be-9d87cdcb033b", "NetworkPolicy/shop/api-egress-named", "NetworkPolicy/shop/api-egress-named",
		},
		{
			"kube-ovn", "nb", "closes: shop/api-a (10.16.0.12) -> shop/web-b (10.16.1.11) tcp/8081",
			"6f23575d-e165-43f5-81b8-194a8ee9ed16", "NetworkPolicy/shop/api-egress-named", "NetworkPolicy/shop/web-named-port",
		},
		{
			"kube-ovn", "nb-broken-1", "opens: ops/client-a (10.16.1.32) -> shop/web-a (10.16.0.11) tcp/8000",
			"1219fd27-f508-430b-9216-003a50856d70", "NetworkPolicy/shop/web-from-ops-range", "NetworkPolicy/shop/web-from-ops-range",
		},
	} {
		t.Run(tc.controller+"/"+tc.database, func(t *testing.T) {
			report := verify.Compare(load(t, tc.controller, tc.database))
			var all []string
			for _, f := range report.Findings {
				all = append(all, string(f.Effect)+": "+f.Example.String())
			}
			at := slices.Index(all, tc.example)
			require.GreaterOrEqual(t, at, 0, strings.Join(all, "\n"))
			f := report.Findings[at]
			if tc.wantACL != "" {
				require.Equal(t, tc.wantACL, f.ACLs[0].UUID)
			}
			require.Equal(t, tc.wantOrigin, f.ACLs[0].Origin)
			require.Contains(t, f.Policies, tc.wantPolicy)
		})
	}
}

// TestDoubtIsNoAgreement changes rows so that they cannot be judged.
func TestDoubtIsNoAgreement(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*nbtrace.Rows)
		want   string
	}{
		{"a field that is not known", func(r *nbtrace.Rows) {
			for i := range r.ACLs {
				r.ACLs[i].Match += " && ip.ttl == 64"
			}
		}, "cannot tell whether it decides"},
		{"an address set that cannot be read", func(r *nbtrace.Rows) {
			r.AddressSets[0].Addresses = append(r.AddressSets[0].Addresses, "nonsense")
		}, "is not an address"},
		{"a pod without a port", func(r *nbtrace.Rows) {
			r.Ports = slices.DeleteFunc(r.Ports, func(p nbtrace.Port) bool { return p.Name == "ops_job-a" })
		}, "pod ops/job-a has no logical port"},
		{"a port with another address", func(r *nbtrace.Rows) {
			for i := range r.Ports {
				if r.Ports[i].Name == "ops_job-a" {
					r.Ports[i].Addresses = []string{"0a:58:0a:10:00:20 10.16.0.99"}
				}
			}
		}, "port ops_job-a has other addresses"},
		{"no row at all", func(r *nbtrace.Rows) { *r = nbtrace.Rows{} }, "nothing was judged"},
		{"two ACLs of one priority", func(r *nbtrace.Rows) {
			for i := range r.ACLs {
				if r.ACLs[i].Tier == 2 {
					r.ACLs[i].Priority = 1000
				}
			}
		}, "another one of its tier and priority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state, rows := load(t, "ovn-kubernetes", "nb")
			tc.change(rows)
			report := verify.Compare(state, rows)
			require.False(t, report.Conclusive())
			require.Contains(t, strings.Join(report.Unknown, "\n"), tc.want)
		})
	}
}
