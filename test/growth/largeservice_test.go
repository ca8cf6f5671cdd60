package growth_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/translator"
)

// TestASliceCostsItsSize changes one slice of a Service with ever more others, from the slice to the plan: the cost does not depend on them.
func TestASliceCostsItsSize(t *testing.T) {
	const size = 100
	part := func(k, endpoints int) *discoveryv1.EndpointSlice {
		s := slice(fmt.Sprintf("slice-%06d", k), 1, 0)
		s.Endpoints = each(endpoints, func(i int) discoveryv1.Endpoint {
			return discoveryv1.Endpoint{Addresses: []string{scattered(4, k*size+i).Addr().String()}}
		})
		return s
	}
	growth.Constant(t, 100, func(n int) func() {
		backend := connect(t)
		tr := translator.New(translator.Options{})
		require.NoError(t, tr.Put(service(1)))
		for k := range n {
			require.NoError(t, tr.Put(part(k, size)))
		}
		reached := tr.Snapshot().Revision()
		plan, err := backend.Plan(t.Context(), tr.Snapshot(), 0)
		require.NoError(t, err)
		require.NoError(t, backend.Apply(t.Context(), plan))
		return func() {
			for endpoints := range size {
				require.NoError(t, tr.Put(part(7, endpoints)))
				s := tr.Snapshot()
				require.NotEqual(t, reached, s.Revision())
				plan, err := backend.Plan(t.Context(), s, reached)
				require.NoError(t, err)
				require.False(t, plan.Full)
				reached = s.Revision()
				if !plan.Empty() {
					require.NoError(t, backend.Apply(t.Context(), plan))
				}
			}
		}
	})
}
