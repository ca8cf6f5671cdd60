package audit_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/audit"
	"github.com/netloom/netloom/pkg/object"
)

var update = flag.Bool("update", false, "rewrite what the golden tests want")

// TestPage compares the page of a small report, with one value of every kind, with a golden file.
func TestPage(t *testing.T) {
	r := audit.Report{
		Summary:     audit.Summary{Counts: audit.Counts{Pods: 4, IsolatedIngress: 3, IsolatedEgress: 2, FromWorld: 1, ToWorld: 2}, Namespaces: 2, Policies: 2},
		NotExamined: []string{"connections of 50 namespaces"},
		Namespaces: []audit.Namespace{
			{Name: "bank", Counts: audit.Counts{Pods: 2, IsolatedIngress: 2, IsolatedEgress: 2, ToWorld: 1}},
			{Name: "shop", Counts: audit.Counts{Pods: 2, IsolatedIngress: 1, FromWorld: 1, ToWorld: 1}},
		},
		Pods: []audit.Pod{
			{Namespace: "bank", Name: "vault-0", Ingress: true, Egress: true, FromWorld: audit.Access{Scope: audit.None}, ToWorld: audit.Access{Scope: audit.None}},
			{
				Namespace: "shop", Name: "web-0", FromWorld: audit.Access{Scope: audit.Networks, Traffic: "tcp/443"},
				ToWorld: audit.Access{Scope: audit.World, Traffic: "everything"},
			},
		},
		Matrix: []audit.Cell{{From: "bank", To: "shop", Allowed: 3, Pairs: 4, Traffic: []string{"tcp/80", "tcp/443"}, More: true}},
		Policies: []audit.Policy{
			{Kind: object.KindNetworkPolicy, Namespace: "bank", Name: "vault", Created: "2026-01-02T03:04:05Z", Ingress: true, Egress: true, Pods: 2, Rules: 3, Sole: 1},
			{Kind: object.KindClusterNetworkPolicy, Name: "base", Ingress: true, Pods: 4},
		},
	}
	changes := &audit.Changes{
		Changes:  []audit.Change{{Kind: "pod", Object: "shop/web-0", What: "isolated for ingress", Before: "yes", After: "no"}},
		Appeared: []string{"shop/web-1"}, Vanished: []string{"shop/web-2"},
	}
	reader, writer := io.Pipe()
	require.NoError(t, reader.CloseWithError(io.ErrShortWrite))
	require.ErrorIs(t, r.WriteHTML(writer, changes), io.ErrShortWrite)
	for _, tc := range []struct {
		name    string
		report  *audit.Report
		changes *audit.Changes
	}{
		{"page", &r, changes},
		{"empty", &audit.Report{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got bytes.Buffer
			require.NoError(t, tc.report.WriteHTML(&got, tc.changes))
			golden := "testdata/" + tc.name + ".html"
			if *update {
				require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}
