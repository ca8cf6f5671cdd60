package growth_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// list is one list that an object of the API can contain.
type list struct {
	name string
	// most is how long the list can be: as many elements as the API allows, as fit in an object of 1.5 MiB, or as are within
	// the budget where that is fewer.
	most    int
	objects func(n int) []any // with n elements in the list
	// beyond is how long a list the API accepts whose object is beyond its budget. 0 is where there is no such list.
	beyond int
}

// TestNoListGrowsFasterThanItsLength takes every list that an object can contain from the object to the rows of a database,
// shortens it and takes the object away again.
func TestNoListGrowsFasterThanItsLength(t *testing.T) {
	backend := connect(t)
	for _, l := range lists() {
		t.Run(l.name, func(t *testing.T) {
			growth.NearlyLinear(t, l.most/4, func(n int) func() { return l.walk(t, backend, unbounded(), n) })
		})
		if l.beyond == 0 {
			continue
		}
		t.Run(l.name+" beyond the budget", func(t *testing.T) {
			growth.NearlyLinear(t, l.beyond/4, func(n int) func() { return l.walk(t, backend, budget.Default(), n) })
		})
	}
}

// walk is the work that objects with n elements in the list cause.
func (l *list) walk(t *testing.T, backend *ovn.Backend, limits budget.Limits, n int) func() {
	t.Helper()
	long, short := l.objects(n), l.objects(n-1)
	tr := translator.New(translator.Options{Budget: limits})
	plan := func() {
		_, err := backend.Plan(t.Context(), tr.Snapshot(), 0)
		require.NoError(t, err)
		tr.Problems()
	}
	put := func(objects []any) {
		for _, o := range objects {
			require.NoError(t, tr.Put(o))
		}
	}
	return func() {
		put(long)
		plan()
		put(short)
		tr.Snapshot()
		for _, o := range long {
			ref := pipelinetest.RefOf(o.(runtime.Object))
			tr.Remove(ref.Kind, ref.Namespace, ref.Name)
		}
		plan()
	}
}

// unbounded is a budget that no object uses up.
func unbounded() budget.Limits {
	limits := budget.Default()
	for u := range limits {
		limits[u] = 1 << 30
	}
	return limits
}

// connect is a backend on an empty database within the process.
func connect(t *testing.T) *ovn.Backend {
	t.Helper()
	server := ovntest.StartServer(t, schema.NB2503())
	client := ovntest.Connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	backend, err := ovn.New(client, ovn.Options{Owner: "growth", Ports: names})
	require.NoError(t, err)
	return backend
}
