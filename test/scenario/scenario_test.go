package scenario_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/memory/memorytest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/scenario"
)

func TestScenarios(t *testing.T) {
	ovn := func(nb []byte) backendtest.Factory {
		return func(t testing.TB) backendtest.Target { return ovntest.New(t, nb) }
	}
	scenario.Run(t, ".",
		scenario.Backend{Name: "memory", Fresh: memorytest.New},
		scenario.Backend{Name: "OVN 23.03", Fresh: ovn(schema.NB2303())},
		scenario.Backend{Name: "OVN 25.03, with tiers", Fresh: ovn(schema.NB2503()), Few: true},
		scenario.Backend{Name: "Tungsten Fabric", Fresh: tungstentest.New, Partial: true, Few: true},
		scenario.Backend{Name: "OVN without template variables", Scripts: "service-*", Few: true, Fresh: func(t testing.TB) backendtest.Target {
			return ovntest.NewByNode(t, older(t))
		}},
	)
}

// TestKubeManagersDefects has a script for each defect of kube-manager's translation, by its name.
func TestKubeManagersDefects(t *testing.T) {
	scenario.Run(t, "kubemanager",
		scenario.Backend{Name: "memory", Fresh: memorytest.New, Few: true},
		scenario.Backend{Name: "Tungsten Fabric", Fresh: tungstentest.New, Partial: true, Few: true},
	)
}

// older is a schema of before groups of load balancers and template variables: what is served by node is on the switches
// and routers of the nodes then.
func older(t testing.TB) []byte {
	var nb struct {
		Name    string                    `json:"name"`
		Version string                    `json:"version"`
		Tables  map[string]map[string]any `json:"tables"`
	}
	require.NoError(t, json.Unmarshal(schema.NB2303(), &nb))
	delete(nb.Tables, "Load_Balancer_Group")
	delete(nb.Tables, "Chassis_Template_Var")
	for _, table := range []string{"Logical_Switch", "Logical_Router"} {
		columns, ok := nb.Tables[table]["columns"].(map[string]any)
		require.True(t, ok)
		delete(columns, "load_balancer_group")
	}
	text, err := json.Marshal(nb)
	require.NoError(t, err)
	return text
}
