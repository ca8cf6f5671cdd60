package ovn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
)

// TestAGroupThatGoesCostsWhatItHas drops the group of each of many pods, while all of them are in another one.
func TestAGroupThatGoesCostsWhatItHas(t *testing.T) {
	names, err := ParsePortNames("{namespace}_{pod}")
	require.NoError(t, err)
	growth.NearlyLinear(t, 500, func(n int) func() {
		state := &backendtest.State{Sets: []backendtest.SetSpec{{ID: "all"}}}
		for i := range n {
			key := object.Key{Namespace: "shop", Name: fmt.Sprint("p", i)}
			state.Endpoints = append(state.Endpoints, intent.Endpoint{Key: key})
			state.Sets[0].Keys = append(state.Sets[0].Keys, key)
			state.Sets = append(state.Sets, backendtest.SetSpec{ID: intent.SetID(key.Name), Keys: []object.Key{key}})
		}
		s := state.Snapshot()
		w := memberships{}
		for set := range s.Sets() {
			for e := range set.Members.All() {
				w.add(names.Names(e.Key)[0], e.Key, set.ID)
			}
		}
		return func() {
			for i := range n {
				w.drop(s.Set(intent.SetID(fmt.Sprint("p", i))), names)
			}
			require.Len(t, w, n)
			w.drop(s.Set("all"), names)
			require.Empty(t, w)
		}
	})
}
