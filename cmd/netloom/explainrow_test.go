package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
)

// TestEveryRowLeadsToItsOrigin asks for every row of the examples.
func TestEveryRowLeadsToItsOrigin(t *testing.T) {
	server := database(t)
	require.NoError(t, server.AddSwitch("node-a"))
	nb := []string{"--ovn-nb", server.Addr()}
	require.Equal(t, exitDone, netloom(t, append([]string{"apply", "--manifests", exampleDir}, nb...)...).code)

	plan := netloom(t, append([]string{"apply", "--dry-run", "--force", "--manifests", t.TempDir(), "-o", "json"}, nb...)...)
	var deletions struct {
		Ops []struct{ Verb, Kind, Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(plan.out), &deletions), plan.errout)
	kinds := map[string]bool{}
	for _, op := range deletions.Ops {
		if op.Verb != "delete" {
			continue
		}
		first := !kinds[op.Kind]
		kinds[op.Kind] = true
		got := netloom(t, append([]string{"explain", "row", op.Name, "-o", "json"}, nb...)...)
		require.Equal(t, exitDone, got.code, got.errout)
		var trails struct{ Items []backends.Trail }
		require.NoError(t, json.Unmarshal([]byte(got.out), &trails))
		for _, trail := range trails.Items {
			require.Equal(t, op.Name, trail.Name)
			require.NotEmpty(t, trail.Origins, "%+v", trail)
			if !first {
				continue // a prefix is looked up in all tables alike
			}
			byUUID := netloom(t, append([]string{"explain", "row", trail.UUID[:13], "-o", "json"}, nb...)...)
			require.Contains(t, byUUID.out, trail.UUID)
		}
	}
	for _, kind := range []string{"ACL", "Address_Set", "Port_Group", "Meter", "Meter_Band", "Load_Balancer", "Load_Balancer_Group"} {
		require.True(t, kinds[kind], "no %s among the rows", kind)
	}

	// What explain says of a policy without a database is what is in the database.
	var policy explained
	offline := netloom(t, "explain", "-f", exampleDir, "networkpolicy/shop/web", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(offline.out), &policy), offline.errout)
	require.Len(t, policy.Rows, 6)
	for _, row := range policy.Rows {
		require.Contains(t, server.Dump(), `match: "`+row.Match+`"`)
		require.Positive(t, row.Flows["node-a"])
	}

	got := netloom(t, append([]string{"explain", "row", "shop/db ingress[0]"}, nb...)...)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^ACL shop/db ingress\[0\]  [0-9a-f-]{36}$`, got.out)
	require.Contains(t, got.out, "\n  needed by NetworkPolicy/shop/db spec.ingress[0]\n    action: allow-related\n")

	got = netloom(t, append([]string{"explain", "row", "nothing"}, nb...)...)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, `no row has the name "nothing", or a UUID that begins with it`)
	got = netloom(t, append([]string{"explain", "row"}, nb...)...)
	require.Contains(t, got.errout, "expected the UUID of a row")
}
