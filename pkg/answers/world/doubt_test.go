package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/object"
)

// TestDoubtsBelongToAnswers has one fault at a time, and asks about connections that it can change and others that it cannot.
func TestDoubtsBelongToAnswers(t *testing.T) {
	problem := func(kind, namespace, name string) func(*world.State) {
		return func(s *world.State) {
			s.Problems = append(s.Problems, object.Problem{Ref: object.Ref{Kind: kind, Namespace: namespace, Name: name}, Message: "it is wrong"})
		}
	}
	const (
		inShop, toTest, toService, toAddress, toVIP, outside = "shop/web-0->shop/db-0", "shop/web-0->test/db-0", "test/db-0->svc/shop/web",
			"test/db-0->10.0.0.3", "test/db-0->10.96.0.1", "test/db-0->192.0.2.1"
	)
	all := []string{inShop, toTest, toService, toAddress, toVIP, outside}
	for _, tc := range []struct {
		name    string
		fault   func(*world.State)
		changes []string // the connections that it can change
	}{
		{"a policy", problem(object.KindNetworkPolicy, "shop", "x"), []string{inShop, toTest, toService, toAddress, toVIP}},
		{"a policy elsewhere", problem(object.KindNetworkPolicy, "other", "x"), nil},
		{"a cluster-wide policy", problem(object.KindClusterNetworkPolicy, "", "x"), all},
		{"a namespace, whose labels peers have", problem(object.KindNamespace, "", "other"), all},
		{"a file", problem("", "", ""), all},
		{"a Service", problem(object.KindService, "shop", "x"), []string{toService, toVIP}},
		{"the slice of a Service", problem(object.KindEndpointSlice, "shop", "x"), []string{toService, toVIP}},
		{"a pod", problem(object.KindPod, "shop", "db-0"), []string{inShop, toService, toAddress, toVIP}},
		{"an SD-WAN object", problem("FirewallRule", "shop", "x"), nil},
		{"a kind that is not evaluated", func(s *world.State) {
			s.Reading.Foreign = []world.Foreign{{Kind: "SecurityGroup"}}
		}, all},
		{"a kind that is not evaluated, of some namespaces", func(s *world.State) {
			s.Reading.Foreign = []world.Foreign{{Kind: "Subnet", Namespaces: []string{"other", "shop"}}}
		}, []string{inShop, toTest, toService, toAddress, toVIP}},
		{"a kind that is not evaluated, elsewhere", func(s *world.State) {
			s.Reading.Foreign = []world.Foreign{{Kind: "Subnet", Namespaces: []string{"other"}}}
		}, nil},
		{"a firewall that is not evaluated", func(s *world.State) {
			s.Objects.Firewalls = append(s.Objects.Firewalls, &ovnkubernetes.EgressFirewall{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}})
		}, []string{inShop, toTest, toService, toAddress, toVIP}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := answerstest.StateOf(t, answerstest.ObjectsOf(t, pods))
			state.Reading = &world.Reading{}
			w := world.New(state)
			for _, connection := range all {
				require.Empty(t, doubts(t, w, connection))
			}
			tc.fault(&state)
			require.Len(t, state.Doubts(), 1)
			w = world.New(state)
			var changes []string
			for range 2 { // the second time they are remembered
				changes = nil
				for _, connection := range all {
					if found := doubts(t, w, connection); len(found) > 0 {
						require.Equal(t, state.Doubts(), found)
						changes = append(changes, connection)
					}
				}
			}
			require.Equal(t, tc.changes, changes)
		})
	}
}

// doubts lists those about a connection.
func doubts(t *testing.T, w *world.World, connection string) []string {
	t.Helper()
	q, err := question.Parse(connection + ":80")
	require.NoError(t, err)
	pairs, err := question.PairsOf(w, q, question.Where{}, false)
	require.NoError(t, err)
	require.Len(t, pairs, 1)
	return pairs[0].Doubts()
}

// TestDoubtsOfAnUnaddressedPod has a pod that runs and has no address, and one that is being deleted.
func TestDoubtsOfAnUnaddressedPod(t *testing.T) {
	state := answerstest.StateOf(t, answerstest.ObjectsOf(t, pods+`
---
{apiVersion: v1, kind: Pod, metadata: {name: odd, namespace: shop}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: shop, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a.example/b]}, status: {phase: Running}}
`))
	state.Reading = &world.Reading{}
	require.Equal(t, []string{"1 pod without an address: shop/odd"}, state.Doubts())
	w := world.New(state)
	require.Empty(t, doubts(t, w, "shop/web-0->shop/db-0"))
	require.Equal(t, state.Doubts(), doubts(t, w, "shop/web-0->svc/shop/web"), "it may be behind the Service")
}

// TestUnjudgedByNamespace compares what concerns namespaces with the doubts about their pods.
func TestUnjudgedByNamespace(t *testing.T) {
	require.Empty(t, (*world.Reading)(nil).ByNamespace().On("shop"))
	reading := &world.Reading{Foreign: []world.Foreign{{Kind: "Subnet", Namespaces: []string{"shop", "other", "shop"}}}}
	unjudged := reading.ByNamespace()
	require.Equal(t, []string{"ignored, although they decide on connections: 1 Subnet"}, unjudged.On("shop"))
	require.True(t, unjudged.Concerns("shop"))
	for _, namespace := range []string{"test", ""} {
		require.Empty(t, unjudged.On(namespace))
		require.False(t, unjudged.Concerns(namespace))
	}
	reading.Unlisted = []string{"Vpc (kubeovn.io)"}
	unjudged = reading.ByNamespace()
	require.Len(t, unjudged.On("shop"), 2)
	for _, namespace := range []string{"test", ""} {
		require.Equal(t, []string{"may decide on connections, and could not be listed: Vpc (kubeovn.io)"}, unjudged.On(namespace))
		require.True(t, unjudged.Concerns(namespace))
	}
}
