//go:build e2e

package ovn_test

import (
	"testing"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestContractOnRealServer runs the contract on the ovsdb-server that is installed.
func TestContractOnRealServer(t *testing.T) {
	backendtest.Run(t, func(t testing.TB) backendtest.Target { return ovntest.NewReal(t, schema.NB2303()) })
}

// TestContractWithoutTemplates runs the contract on a database of an OVN that supports neither groups of load
// balancers nor template variables.
func TestContractWithoutTemplates(t *testing.T) {
	nb := withoutGroups(t)
	backendtest.Run(t, func(t testing.TB) backendtest.Target { return ovntest.NewByNode(t, nb) })
}
