package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/reach"
)

// wider lets every pod of the shop reach the database, on more ports.
const wider = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Ingress]
  ingress:
  - from: [{namespaceSelector: {}}]
    ports: [{port: 5432}, {port: 8000, endPort: 8010}]
`

func TestImpact(t *testing.T) {
	changed := filepath.Join(t.TempDir(), "db.yaml")
	require.NoError(t, os.WriteFile(changed, []byte(wider), 0o600))
	for _, tc := range []struct {
		name string
		args []string
		code int
		out  string
		eout string
	}{
		{
			"a policy that goes",
			[]string{"-f", exampleDir, "--without", "networkpolicy/shop/db"},
			exitDiffers,
			"- shop/api-0, shop/api-1 -> shop/db-0: tcp/5432\n",
			"",
		},
		{
			"a policy that changes",
			[]string{"-f", exampleDir, "--with", changed},
			exitDiffers,
			"+ kube-system/coredns-0, monitoring/prometheus-0 -> shop/db-0: tcp/5432, tcp/8000-8010\n",
			"",
		},
		{
			"the outside",
			[]string{"-f", exampleDir, "--without", "networkpolicy/shop/web"},
			exitDiffers,
			"- shop/web-0, shop/web-1 -> shop/api-0: tcp/9000\n- shop/web-0, shop/web-1 -> shop/api-1: tcp/9001\n" +
				"- outside 0.0.0.0/0 except 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, ::/0 except fc00::/7" +
				" -> shop/web-0, shop/web-1: tcp/8080\n",
			"",
		},
		{
			"nothing",
			[]string{"--from", exampleDir, "--to", exampleDir},
			exitDone,
			"no connection of 7 pods changes\n", "",
		},
		{
			"a pod that goes",
			[]string{"-f", exampleDir, "--without", "pod/shop/web-1"},
			exitDone,
			"no connection of 6 pods changes\nremoved: shop/web-1\n", "",
		},
		{
			"a database that is renamed, so that no policy selects it",
			[]string{"--from", "testdata/inputs/impact-rename/a", "--to", "testdata/inputs/impact-rename/b", "--fail-on", "opened"},
			exitDiffers,
			"no connection of 1 pod changes\nadded: shop/deploy/postgres\nremoved: shop/deploy/db\n" +
				"+ shop/deploy/api and outside 0.0.0.0/0 -> shop/deploy/postgres: everything\n" +
				"+ shop/deploy/postgres -> shop/deploy/api and outside 0.0.0.0/0: everything\n",
			"",
		},
		{
			"a workload that is added",
			[]string{"--from", "testdata/inputs/impact-new-workload/a", "--to", "testdata/inputs/impact-new-workload/b", "--fail-on", "opened"},
			exitDiffers,
			"no connection of 1 pod changes\nadded: shop/deploy/newcomer\n" +
				"+ shop/deploy/db and outside 0.0.0.0/0 -> shop/deploy/newcomer: everything\n" +
				"+ shop/deploy/newcomer -> shop/deploy/db and outside 0.0.0.0/0: everything\n",
			"",
		},
		{
			"a workload that is added, and what is closed",
			[]string{"--from", "testdata/inputs/impact-new-workload/a", "--to", "testdata/inputs/impact-new-workload/b", "--fail-on", "closed"},
			exitDone,
			"no connection of 1 pod changes\nadded: shop/deploy/newcomer\n" +
				"+ shop/deploy/db and outside 0.0.0.0/0 -> shop/deploy/newcomer: everything\n" +
				"+ shop/deploy/newcomer -> shop/deploy/db and outside 0.0.0.0/0: everything\n",
			"",
		},
		{
			"a policy for pods that an operator makes",
			[]string{"--from", "testdata/inputs/impact-operator-pods/a", "--to", "testdata/inputs/impact-operator-pods/b", "--fail-on", "opened"},
			exitDiffers,
			"no connection of 1 pod changes\npolicies that select none of the pods:\n" +
				"+ outside 0.0.0.0/0, ::/0 -> pods that NetworkPolicy/store/engine selects: everything\n",
			"",
		},
		{"no change", []string{"-f", exampleDir}, exitFailed, "", "expected a change: --with FILE"},
		{"one end", []string{"--from", exampleDir}, exitFailed, "", "--from and --to must be used together"},
		{
			"an object that is not declared",
			[]string{"-f", exampleDir, "--without", "networkpolicy/shop/dbb"},
			exitFailed, "",
			"NetworkPolicy shop/dbb cannot be removed: no manifest declares it",
		},
		{
			"no object",
			[]string{"-f", exampleDir, "--without", "db"},
			exitFailed, "",
			"expected one of networkpolicy, pod",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, append([]string{"impact"}, tc.args...)...)
			require.Equal(t, tc.code, got.code, got.errout)
			require.Equal(t, tc.out, got.out)
			require.Contains(t, got.errout, tc.eout)
		})
	}
	t.Run("as data", func(t *testing.T) {
		answer := netloom(t, "impact", "-f", exampleDir, "--without", "networkpolicy/shop/allow-dns", "-o", "json")
		require.Equal(t, exitDiffers, answer.code)
		var got impact.Report
		require.NoError(t, json.Unmarshal([]byte(answer.out), &got))
		require.Equal(t, impact.Report{Pods: 7, Changes: []impact.Effect{{
			From:   reach.Group{Pods: []string{"shop/api-0", "shop/api-1", "shop/db-0", "shop/web-0", "shop/web-1"}},
			To:     reach.Group{Pods: []string{"kube-system/coredns-0"}},
			Closed: "tcp/53, udp/53",
		}}}, got)
	})
}

func TestImpactAsAPicture(t *testing.T) {
	got := netloom(t, "impact", "-f", exampleDir, "--without", "networkpolicy/shop/db", "-o", "svg")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, `<path class="arc closed"`)
	require.Contains(t, got.out, "<title>shop/api-0 -&gt; shop/db-0: - tcp/5432</title>")
	got = netloom(t, "impact", "-f", exampleDir, "--with", filepath.Join("..", "..", "docs", "commands", "newcomer.yaml"), "-o", "dot")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, `n1 [label="deploy/report" tooltip="shop/deploy/report"]`)
	require.Contains(t, got.out, `[label="+ tcp/53, udp/53" color="#1a7f37" class=opened]`)
}
