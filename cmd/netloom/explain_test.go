package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/explain"
)

func TestExplain(t *testing.T) {
	services := filepath.Join("..", "..", "docs", "commands", "services.yaml")
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"a pod", []string{"-f", exampleDir, "pod/shop/api-0"}, []string{
			"pod shop/api-0\n", "\n  addresses  10.244.1.20, fd00:244:1::20\n",
			"\ningress: isolated by NetworkPolicy/shop/api, NetworkPolicy/shop/default-deny\n",
			"\n  tcp/9000    shop/web-0, shop/web-1   NetworkPolicy/shop/api spec.ingress[0]\n",
			"\n  everything  node/node-a              Node/node-a status.addresses\n",
		}},
		{"a pod that may only resolve names", []string{"-f", exampleDir, "-n", "shop", "pod/db-0"}, []string{
			"\n  tcp/53, udp/53  kube-system/coredns-0  NetworkPolicy/shop/allow-dns spec.egress[0]\n",
		}},
		{"a pod that nothing isolates", []string{"-f", exampleDir, "pod/monitoring/prometheus-0"}, []string{
			"\negress: no policy isolates it\n", "\n  everything  kube-system/coredns-0 and outside 0.0.0.0/0, ::/0  not isolated\n",
		}},
		{"a policy", []string{"-f", exampleDir, "netpol/shop/db"}, []string{
			"\ningress: isolates pods app=db in namespace shop: shop/db-0\n",
			"\n  logs     allowed traffic as info, denied traffic as alert, at most 20 lines a second\n",
			"\n  spec.ingress[0]  tcp/5432  pods app=api in namespace shop: shop/api-0, shop/api-1\n",
		}},
		{"a policy that allows nothing", []string{"-f", exampleDir, "netpol/shop/default-deny"}, []string{"\n  allows nothing\n"}},
		{"a service", []string{"-f", services, "svc/shop/db"}, []string{
			"\ntcp/10.96.0.10:5432  cluster  sql\n  10.0.0.2:15432  shop/db-0 on n1\n",
			"\ntcp/10.96.0.10:8080  cluster  admin\n  no endpoint: connections are refused\n",
			"\ntcp/172.18.0.2:30432  nodeport  n2  (node of frontend)\n  10.0.0.3:15432  shop/db-1 on n2\n",
		}},
		{"a headless service", []string{"-f", services, "svc/shop/headless"}, []string{"it is headless: its name resolves to its pods\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, append([]string{"explain"}, tc.args...)...)
			require.Equal(t, exitDone, got.code, got.errout)
			for _, want := range tc.want {
				require.Contains(t, got.out, want)
			}
		})
	}
}

func TestExplainAsData(t *testing.T) {
	args := []string{"explain", "-f", exampleDir, "pod/shop/api-0", "-o"}
	var fromJSON, fromYAML explain.Object
	got := netloom(t, append(args, "json")...)
	require.NoError(t, json.Unmarshal([]byte(got.out), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte(netloom(t, append(args, "yaml")...).out), &fromYAML))
	require.Equal(t, fromJSON, fromYAML)
	require.NotNil(t, fromJSON.Pod)
	for _, name := range []string{`"pod"`, `"ingress"`, `"isolatedBy"`, `"reach"`, `"pods"`, `"ports": "tcp/9000"`, `"by"`} {
		require.Contains(t, got.out, name)
	}
}

func TestExplainSaysWhatIsWrongWithItsCall(t *testing.T) {
	got := netloom(t, "explain", "-f", exampleDir, "pod/shop/api")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "netloom: pod shop/api: not found; did you mean shop/api-0 or shop/api-1?\n", got.errout)
	got = netloom(t, "explain", "-f", exampleDir, "-o", "xml")
	require.Equal(t, "netloom: expected an object, such as pod/shop/web-0 or networkpolicy/shop/db\n"+
		"--output: \"xml\": expected table, json or yaml\n", got.errout)
	require.Equal(t, "networkpolicy/shop/db\nnetworkpolicy/shop/default-deny\n:4\n",
		netloom(t, "__complete", "explain", "-f", exampleDir, "networkpolicy/shop/d").out)
}

func TestExplainReportsProblems(t *testing.T) {
	dir := faultyManifests(t)
	got := netloom(t, "explain", "-f", dir, "netpol/shop/db-client-a")
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, got.out, "networkpolicy shop/db-client-a\nproblem: "+filepath.Join(dir, "policies.yaml")+":9: ")
	require.Contains(t, got.out, "isolates pods app=db in namespace shop: none at present\n  allows nothing\n")
}

// TestMadeUpPodsAreNamedAfterTheirWorkload explains one of the pods that stand for a Deployment.
func TestMadeUpPodsAreNamedAfterTheirWorkload(t *testing.T) {
	dir := t.TempDir()
	var manifest strings.Builder
	for _, name := range []string{"web", "api"} {
		fmt.Fprintf(&manifest, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s, namespace: shop}\nspec:\n  replicas: 3\n"+
			"  selector: {matchLabels: {app: %[1]s}}\n  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, image: c}]}}\n", name)
	}
	write(t, dir, "shop.yaml", manifest.String())
	got := netloom(t, "explain", "-f", dir, "-n", "shop", "deploy/web")
	require.Contains(t, got.out, "shop/deploy/api, shop/deploy/web and outside 0.0.0.0/0", got.errout)
	require.NotContains(t, got.out, "+1")
}
