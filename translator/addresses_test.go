package translator_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/translator"
)

// holder is a running pod of shop with addresses.
func holder(name string, leaving bool, addrs ...string) *corev1.Pod {
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
			if e, ok := tr.View().Endpoint(labelcache.Key{Namespace: "shop", Name: name}); ok {
				got = append(got, fmt.Sprintf("%s %v %v", name, e.Addrs, e.Shared))
			}
		}
		require.Equal(t, want, got)
	}
	put := func(p *corev1.Pod) { t.Helper(); require.NoError(t, tr.Put(p)) }

	put(holder("a", false, "10.0.0.1", "fd00::1", "10.0.0.1"))
	check("a [10.0.0.1 fd00::1] []")
	put(holder("b", false, "10.0.0.1"))
	check("a [fd00::1] [10.0.0.1]", "b [] [10.0.0.1]")
	require.Len(t, tr.Problems(), 2)
	put(holder("a", true, "10.0.0.1", "fd00::1"))
	check("a [fd00::1] []", "b [10.0.0.1] []")
	require.Empty(t, tr.Problems(), "a pod that goes is no conflict")
	put(holder("c", false, "10.0.0.1"))
	check("a [fd00::1] []", "b [] [10.0.0.1]", "c [] [10.0.0.1]")
	tr.Remove("Pod", "shop", "b")
	check("a [fd00::1] []", "c [10.0.0.1] []")
	finished := holder("c", false, "10.0.0.1")
	finished.Status.Phase = corev1.PodSucceeded
	put(finished)
	check("a [10.0.0.1 fd00::1] []")
	put(holder("b", true, "10.0.0.1"))
	check("a [fd00::1] [10.0.0.1]", "b [] [10.0.0.1]")
	put(holder("b", true))
	check("a [10.0.0.1 fd00::1] []", "b [] []")
	require.Empty(t, tr.Problems())
}
