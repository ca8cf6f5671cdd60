package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// components are the directories of deploy/kustomize/components with alerts and a dashboard of the same name. The chart has the same.
var components = map[string]string{"netloom": "monitoring", "netloom-gateway": "gateway-monitoring"}

// rules are what Prometheus reads of a PrometheusRule.
type rules struct {
	Groups []group `json:"groups"`
}

type group struct {
	Name  string           `json:"name"`
	Rules []map[string]any `json:"rules"`
}

// unitTests are what the tests below read of a file for `promtool test rules`.
type unitTests struct {
	Tests []struct {
		Name  string `json:"name"`
		Exprs []struct {
			Samples []any `json:"exp_samples"`
		} `json:"promql_expr_test"`
	} `json:"tests"`
}

// TestAlerts checks the rules and runs their unit tests with promtool.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool := build(t)
	for name, component := range components {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			alerts := rulesOf(t, component)
			text, err := yaml.Marshal(alerts)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o600))
			run(t, dir, promtool, "check", "rules", "--lint=all", "--lint-fatal", name+".yaml")

			tests := name + ".test.yaml"
			text, err = os.ReadFile(filepath.Join("testdata", tests))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, tests), text, 0o600))
			run(t, dir, promtool, "test", "rules", tests)
			requireEachTested(t, &alerts, text)
		})
	}
}

// requireEachTested requires for each alert a case of its name, in which something fires and at another time nothing.
func requireEachTested(t *testing.T, alerts *rules, text []byte) {
	t.Helper()
	var tests unitTests
	require.NoError(t, yaml.Unmarshal(text, &tests))
	tested := map[string]bool{}
	for _, one := range tests.Tests {
		fires, silent := false, false
		for _, e := range one.Exprs {
			fires, silent = fires || len(e.Samples) > 0, silent || len(e.Samples) == 0
		}
		tested[one.Name] = fires && silent
	}
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			require.True(t, tested[r["alert"].(string)], r["alert"])
		}
	}
}

// rulesOf are the alerts of a component.
func rulesOf(t *testing.T, component string) rules {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../deploy/kustomize/components", component, "prometheusrule.yaml"))
	require.NoError(t, err)
	var object struct {
		Spec rules `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(raw, &object), "%s", raw)
	return object.Spec
}

// build builds the promtool of go.mod. It needs none of the ways in which Prometheus finds targets.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "promtool")
	run(t, ".", "go", "build", "-tags", "remove_all_sd", "-o", program, "github.com/prometheus/prometheus/cmd/promtool")
	return program
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
