package ovn_test

import (
	"testing"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

func TestContract(t *testing.T) {
	for name, nb := range map[string][]byte{"OVN 23.03": schema.NB2303(), "OVN 25.03, with tiers": schema.NB2503()} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t testing.TB) backendtest.Target { return ovntest.New(t, nb) })
		})
	}
}
