package translator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// TestSlicesDoNotDependOnHistory changes slices whose endpoints overlap, and the Services that they belong to. After each change the result
// is that of a translator that knows only the present objects.
func TestSlicesDoNotDependOnHistory(t *testing.T) {
	seeds.Each(t, "slices", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 5))
		tr := translator.New(translator.Options{})
		now := map[string]any{}
		for step := range 150 {
			o, name := randomSlice(rng), ""
			if name = o.Name; rng.IntN(4) == 0 {
				tr.Remove(object.KindEndpointSlice, o.Namespace, name)
				delete(now, name)
			} else {
				put(t, tr, o)
				now[name] = o
			}
			if rng.IntN(5) == 0 {
				s := newService(t, []string{"web", "db"}[rng.IntN(2)], 0, []string{both, plain, other, onNode}[rng.IntN(4)])
				s.Spec.PublishNotReadyAddresses = rng.IntN(2) == 0
				put(t, tr, s)
				now["service "+s.Name] = s
			}
			if rng.IntN(3) == 0 {
				continue // several changes are one
			}
			fresh := translator.New(translator.Options{})
			for _, o := range now {
				put(t, fresh, o)
			}
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "seed %d step %d", seed, step)
		}
	})
}

// randomSlice is one of a few slices, of a random Service, with few addresses.
func randomSlice(rng *rand.Rand) *discoveryv1.EndpointSlice {
	s := newSlice(fmt.Sprint("s", rng.IntN(4)), []string{"web", "web", "db"}[rng.IntN(3)])
	for range rng.IntN(5) {
		yes := func() *bool {
			b := rng.IntN(2) == 0
			return &b
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprint("10.0.0.", rng.IntN(5))},
			Conditions: discoveryv1.EndpointConditions{Ready: yes(), Serving: yes(), Terminating: yes()},
			TargetRef:  &corev1.ObjectReference{Kind: object.KindPod, Name: fmt.Sprint("p", rng.IntN(3))},
		})
	}
	name, number := "b", int32(81)
	if rng.IntN(2) == 0 {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number})
	}
	if rng.IntN(4) == 0 {
		s.Ports = s.Ports[1:]
	}
	return s
}
