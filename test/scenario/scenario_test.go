package scenario_test

import (
	"testing"

	"github.com/netloom/netloom/backends/memory/memorytest"
	"github.com/netloom/netloom/test/scenario"
)

func TestScenarios(t *testing.T) {
	scenario.Run(t, ".", scenario.Backend{Name: "memory", Fresh: memorytest.New})
}
