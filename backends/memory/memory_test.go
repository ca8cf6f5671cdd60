package memory_test

import (
	"testing"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/memory/memorytest"
)

func TestContract(t *testing.T) { backendtest.Run(t, memorytest.New) }
