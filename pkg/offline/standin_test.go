package offline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/inputs/manifest/workload"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
`

// load reads manifests and returns the names of the pods, and the notes.
func load(t *testing.T, text string, without ...object.Ref) (pods, notes []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	state, err := offline.Load(offline.Manifests{Paths: []string{file}, Without: without})
	require.NoError(t, err)
	require.Empty(t, state.Problems)
	for e := range state.View.Endpoints() {
		pods = append(pods, e.Key.Name)
	}
	return pods, state.Reading.Notes()
}

// TestNothingStandsForPodsThatAreThere has pods of the Deployment in the input.
func TestNothingStandsForPodsThatAreThere(t *testing.T) {
	pod := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1, namespace: shop, labels: {app: web}}\nstatus: {podIP: 10.244.0.9}\n"
	pods, _ := load(t, deployment)
	require.ElementsMatch(t, []string{"deploy/web", "deploy/web+1"}, pods)
	pods, _ = load(t, deployment+pod)
	require.Equal(t, []string{"web-1"}, pods)
	other := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: db-1, namespace: shop, labels: {app: db}}\nstatus: {podIP: 10.244.0.9}\n"
	pods, _ = load(t, deployment+other)
	require.ElementsMatch(t, []string{"deploy/web", "deploy/web+1", "db-1"}, pods)
}

// TestAWorkloadIsRemovedWithItsPods removes a Deployment whose pods are made up, and one whose pods are there.
func TestAWorkloadIsRemovedWithItsPods(t *testing.T) {
	ref := object.Ref{Kind: workload.Deployment, Namespace: "shop", Name: "web"}
	pods, _ := load(t, deployment, ref)
	require.Empty(t, pods)
	pod := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1, namespace: shop, labels: {app: web}}\nstatus: {podIP: 10.244.0.9}\n"
	pods, _ = load(t, deployment+pod, ref)
	require.Empty(t, pods)
	_, err := offline.Load(offline.Manifests{Paths: []string{t.TempDir()}, Without: []object.Ref{ref}})
	require.ErrorContains(t, err, "Deployment shop/web cannot be removed: no manifest declares it")
}

// TestBlocksThatMatchMadeUpAddresses says which rules depend on addresses that nobody knows.
func TestBlocksThatMatchMadeUpAddresses(t *testing.T) {
	policy := func(block string) string {
		return deployment + "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: out, namespace: shop}\n" +
			"spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: " + block + "}]}]}\n"
	}
	for block, depends := range map[string]bool{
		"{cidr: 10.0.0.0/8}":                         true,
		"{cidr: 10.0.0.0/8, except: [10.128.0.0/9]}": true,
		"{cidr: 0.0.0.0/0}":                          false,
		"{cidr: 0.0.0.0/0, except: [10.0.0.0/8]}":    true,
		"{cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]}": false,
		"{cidr: 0.0.0.0/0, except: [10.0.0.0/9]}":                                true,
		"{cidr: 192.168.0.0/16}":                                                 true,
		"{cidr: 203.0.113.0/24, except: [203.0.113.128/25]}":                     false,
	} {
		_, notes := load(t, policy(block))
		if depends {
			require.Equal(t, []string{"the addresses of pods are made up, so whether these blocks hold any is not known: NetworkPolicy/shop/out spec.egress[0]"},
				notes, block)
		} else {
			require.Empty(t, notes, block)
		}
	}
}

// TestLintDoesNotTakeMadeUpAddressesForThoseOfServices has a block with the address that a Service without one gets.
func TestLintDoesNotTakeMadeUpAddressesForThoseOfServices(t *testing.T) {
	vip := new(workload.Addresses).Addr("svc/shop/db", true).String()
	service := "---\napiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {selector: {app: web}, ports: [{port: 80}]CLUSTERIP}\n"
	text := deployment + "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: out, namespace: shop}\n" +
		"spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: " + vip + "/32}}]}]}\n" + service
	rules := func(clusterIP string) []string {
		file := filepath.Join(t.TempDir(), "all.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(text, "CLUSTERIP", clusterIP, 1)), 0o600))
		report, _, err := offline.Lint(offline.Manifests{Paths: []string{file}}, lint.Options{})
		require.NoError(t, err)
		var out []string
		for i := range report.Findings {
			out = append(out, report.Findings[i].Rule)
		}
		return out
	}
	require.NotContains(t, rules(""), lint.ClusterIPBlock)
	require.Contains(t, rules(", clusterIP: "+vip), lint.ClusterIPBlock, "it is found where it is real")
}
