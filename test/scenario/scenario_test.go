package scenario_test

import (
	"testing"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/memory/memorytest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
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
		scenario.Backend{Name: "OVN 25.03, with tiers", Fresh: ovn(schema.NB2503())},
	)
}
