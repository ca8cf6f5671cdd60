package tungsten_test

import (
	"testing"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
)

func TestContract(t *testing.T) { backendtest.Run(t, tungstentest.New) }
