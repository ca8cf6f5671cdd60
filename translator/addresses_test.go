package translator_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// podWith is a running pod of shop with addresses.
func podWith(name string, leaving bool, addrs ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if leaving {
		p.DeletionTimestamp = &metav1.Time{}
	}
	for _, a := range addrs {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a})
	}
	return p
}

func TestAddressBelongsToOnePod(t *testing.T) {
	tr := translator.New(translator.Options{})
	check := func(want ...string) {
		t.Helper()
		tr.Snapshot()
		var got []string
		for _, name := range []string{"a", "b", "c"} {
			if e, ok := tr.View().Endpoint(object.Key{Namespace: "shop", Name: name}); ok {
				got = append(got, fmt.Sprintf("%s %v %v", name, e.Addrs, e.Shared))
			}
		}
		require.Equal(t, want, got)
	}
	put := func(p *corev1.Pod) { t.Helper(); require.NoError(t, tr.Put(p)) }

	put(podWith("a", false, "10.0.0.1", "fd00::1", "10.0.0.1"))
	check("a [10.0.0.1 fd00::1] []")
	put(podWith("b", false, "10.0.0.1"))
	check("a [fd00::1] [10.0.0.1]", "b [] [10.0.0.1]")
	require.Len(t, tr.Problems(), 2)
	put(podWith("a", true, "10.0.0.1", "fd00::1"))
	check("a [fd00::1] []", "b [10.0.0.1] []")
	require.Empty(t, tr.Problems(), "a pod that goes is no conflict")
	put(podWith("c", false, "10.0.0.1"))
	check("a [fd00::1] []", "b [] [10.0.0.1]", "c [] [10.0.0.1]")
	tr.Remove("Pod", "shop", "b")
	check("a [fd00::1] []", "c [10.0.0.1] []")
	finished := podWith("c", false, "10.0.0.1")
	finished.Status.Phase = corev1.PodSucceeded
	put(finished)
	check("a [10.0.0.1 fd00::1] []")
	put(podWith("b", true, "10.0.0.1"))
	check("a [fd00::1] [10.0.0.1]", "b [] [10.0.0.1]")
	put(podWith("b", true))
	check("a [10.0.0.1 fd00::1] []", "b [] []")
	require.Empty(t, tr.Problems())
}

// TestManyPodsWithOneAddress costs as much for each pod as few of them do, whatever happens to them.
func TestManyPodsWithOneAddress(t *testing.T) {
	growth.NearlyLinear(t, 1000, func(n int) func() {
		return func() {
			tr := translator.New(translator.Options{})
			name := func(i int) string { return fmt.Sprintf("p%d", i) }
			for i := range n {
				require.NoError(t, tr.Put(podWith(name(i), false, "10.0.0.1")))
			}
			for i := range n {
				labeled := podWith(name(i), false, "10.0.0.1")
				labeled.Labels["round"] = "2"
				require.NoError(t, tr.Put(labeled))
			}
			for i := range n {
				require.NoError(t, tr.Put(podWith(name(i), i%2 == 0, "10.0.0.1")))
			}
			for i := range n {
				tr.Remove("Pod", "shop", name(i))
			}
			require.True(t, translator.Empty(tr))
		}
	})
}

// TestAddressesInAnyOrder compares a translator after many changes with one that starts with the result.
func TestAddressesInAnyOrder(t *testing.T) {
	seeds.Each(t, "addresses", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 6))
		tr, pods := translator.New(translator.Options{}), map[string]*corev1.Pod{}
		seen := func(tr *translator.Translator) (all []string) {
			tr.Snapshot()
			for _, name := range []string{"p0", "p1", "p2", "p3", "p4"} {
				if e, ok := tr.View().Endpoint(object.Key{Namespace: "shop", Name: name}); ok {
					all = append(all, fmt.Sprint(name, e.Addrs, e.Shared))
				}
			}
			return append(all, fmt.Sprint(tr.Problems()))
		}
		for step := range 3000 {
			name := fmt.Sprintf("p%d", random.IntN(5))
			if random.IntN(5) == 0 {
				delete(pods, name)
				tr.Remove("Pod", "shop", name)
			} else {
				var addrs []string
				for _, a := range random.Perm(3)[:random.IntN(4)] {
					addrs = append(addrs, fmt.Sprintf("10.0.0.%d", a))
				}
				pods[name] = podWith(name, random.IntN(3) == 0, addrs...)
				require.NoError(t, tr.Put(pods[name]))
			}
			fresh := translator.New(translator.Options{})
			for _, name := range slices.Sorted(maps.Keys(pods)) {
				require.NoError(t, fresh.Put(pods[name]))
			}
			require.Equal(t, seen(fresh), seen(tr), "step %d", step)
		}
	})
}
