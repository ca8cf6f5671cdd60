package translator_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

func nodeOf(name string, ranges ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: ranges}}
}

func podAt(name string, ips ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	for _, ip := range ips {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return p
}

// TestOverlapsOfClustersAreReported has pods of other clusters with addresses that nodes of the own cluster give to pods.
func TestOverlapsOfClustersAreReported(t *testing.T) {
	tr := translator.New(translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault})
	reported := func() []string {
		tr.Snapshot()
		var out []string
		for _, p := range tr.Problems() {
			out = append(out, p.Error())
		}
		return out
	}
	put := func(cluster string, o any) { require.NoError(t, tr.PutOther(cluster, o)) }
	require.NoError(t, tr.Put(nodeOf("n1", "10.244.1.0/24", "fd00:1::/64")))
	require.NoError(t, tr.Put(podAt("own", "10.244.1.9")))
	put("b", podAt("apart", "10.245.0.1", "fd00:2::1"))
	require.Empty(t, reported())

	put("b", podAt("web-1", "10.245.0.2", "fd00:1::2"))
	put("b", podAt("web-0", "10.244.1.5"))
	put("c", podAt("web", "10.244.1.6"))
	list := reported()
	require.Len(t, list, 2, "one for each cluster")
	require.Contains(t, list[0], "b/Pod/shop/web-0: status.podIPs: 10.244.1.5 is in 10.244.1.0/24, a pod CIDR of node n1 of this cluster: "+
		"clusters of a set need address spaces that do not overlap (pods of cluster b with such addresses: 2)")
	require.Contains(t, list[1], "cluster c with such addresses: 1")

	require.NoError(t, tr.Put(nodeOf("n0", "10.244.0.0/16")))
	require.Contains(t, reported()[0], "in 10.244.1.0/24, a pod CIDR of node n1", "the narrowest range")
	require.NoError(t, tr.Put(nodeOf("n2", "10.244.1.0/24")))
	tr.Remove(object.KindNode, "", "n1")
	require.Contains(t, reported()[0], "10.244.1.5 is in 10.244.1.0/24, a pod CIDR of node n2")
	require.Contains(t, reported()[0], "cluster b with such addresses: 1", "no node has the IPv6 range any more")

	tr.RemoveOther("b", object.KindPod, "shop", "web-0")
	require.Len(t, reported(), 1)
	tr.Remove(object.KindNode, "", "n0")
	tr.Remove(object.KindNode, "", "n2")
	require.Empty(t, reported())
	require.NoError(t, tr.Put(nodeOf("n1", "10.244.1.0/24", "nonsense")))
	require.Len(t, reported(), 1)
	tr.RemoveCluster("c")
	require.Empty(t, reported())
}

// BenchmarkOverlaps changes the range of a node with as many pods of another cluster as its name says.
func BenchmarkOverlaps(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			tr := translator.New(translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault})
			for i := range n {
				require.NoError(b, tr.PutOther("b", podAt(fmt.Sprint("p", i), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))))
			}
			for i := range b.N {
				require.NoError(b, tr.Put(nodeOf("n", fmt.Sprintf("10.0.%d.0/24", i%2))))
				tr.Snapshot()
			}
		})
	}
}
