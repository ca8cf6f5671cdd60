package translator_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/field"
)

// fewPeers has room for two or three pods of another cluster with a label of their own, and for those of little more than one cluster.
func fewPeers() translator.Options {
	return translator.Options{Cluster: "a", ClusterSet: field.SetByDefault, Shares: budget.All{Peers: budget.Shares{Namespace: 7 << 10, Total: 10 << 10}}}
}

// remotePod is a pod of another cluster with a label that no other has.
func remotePod(namespace, name string, n, age int) *corev1.Pod {
	p := aged(newPod(name, fmt.Sprintf("10.%d.0.%d", 100+len(namespace), n), "web", nil), namespace, age)
	p.Labels["of"] = namespace + "-" + name
	return p
}

// sources lists the pods of other clusters that the rules of a snapshot admit, sorted.
func sources(s *intent.Snapshot) string {
	found := map[string]bool{}
	for p := range s.Policies() {
		for i := range p.Rules {
			if set := s.Set(p.Rules[i].Peer.Set); set != nil {
				for e := range set.Members.All() {
					if e.Key.Cluster != "a" {
						found[e.Key.String()] = true
					}
				}
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

const fromEverywhere = `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}]}]}`

func TestTheNewestPodsOfAnotherClusterMatchNothing(t *testing.T) {
	tr := translator.New(fewPeers())
	put(t, tr, newNamespace(nil), newPod("db", "10.0.0.1", "db", nil), newPolicy(t, "p", fromEverywhere))
	peer := func(cluster string, o metav1.Object) { require.NoError(t, tr.PutOther(cluster, o)) }
	peer("b", aged(newNamespace(nil), "", 0)) // it takes a kilobyte, and each pod 2.6
	for i := range 6 {
		peer("b", remotePod("shop", fmt.Sprint("p", i), i, 9-i)) // p5 is the oldest
	}
	require.Equal(t, "b/shop/p4 b/shop/p5", sources(tr.Snapshot()))
	require.Contains(t, messages(tr), "Budget/b/peers: the pods and namespaces of cluster b exceed their budget: 4 do not fit. "+
		"The others take 0.0 MiB of 0.0 MiB, the limit of a cluster; the largest is ")
	require.Len(t, tr.Problems(), 1)
	require.Equal(t, 6, tr.OtherPods("b"), "all of them are known")

	tr.RemoveOther("b", object.KindPod, "shop", "p5")
	require.Equal(t, "b/shop/p3 b/shop/p4", sources(tr.Snapshot()), "the next one has its labels back")
	peer("b", remotePod("shop", "p9", 9, 0))
	require.Equal(t, "b/shop/p4 b/shop/p9", sources(tr.Snapshot()))

	peer("c", aged(newNamespace(nil), "", 50))
	peer("c", remotePod("shop", "x", 7, 60))
	require.Contains(t, sources(tr.Snapshot()), "c/shop/x", "a flood of one cluster takes nothing from another")

	tr.RemoveCluster("b")
	tr.RemoveCluster("c")
	require.Empty(t, sources(tr.Snapshot()))
	require.Empty(t, tr.Problems())
	for _, o := range []any{newNamespace(nil), newPod("db", "10.0.0.1", "db", nil), newPolicy(t, "p", fromEverywhere)} {
		remove(tr, o)
	}
	tr.Snapshot()
	require.True(t, translator.Empty(tr))
}

// TestABusyLabelCostsAClusterOnce has many pods with the same labels, as those of workloads are.
func TestABusyLabelCostsAClusterOnce(t *testing.T) {
	opts := fewPeers()
	opts.Shares.Peers = budget.Shares{Namespace: 40 << 10, Total: 40 << 10}
	tr := translator.New(opts)
	for i := range 30 {
		require.NoError(t, tr.PutOther("b", aged(newPod(fmt.Sprint("p", i), fmt.Sprint("10.9.0.", i), "web", nil), "shop", i)))
	}
	tr.Snapshot()
	require.Empty(t, tr.Problems())
	for i := range 30 {
		require.NoError(t, tr.PutOther("b", remotePod("shop", fmt.Sprint("p", i), i, i)))
	}
	tr.Snapshot()
	require.NotEmpty(t, tr.Problems())
}

// TestAPodWithTooManyLabelsIsNoPeer is about a single pod that exceeds the limit of one pod.
func TestAPodWithTooManyLabelsIsNoPeer(t *testing.T) {
	tr := translator.New(translator.Options{Cluster: "a", ClusterSet: field.SetByDefault})
	put(t, tr, newNamespace(nil), newPod("db", "10.0.0.1", "db", nil), newPolicy(t, "p", fromEverywhere))
	p := remotePod("shop", "p", 1, 1)
	for i := range 1000 {
		p.Labels[fmt.Sprint("k", i)] = "v"
	}
	require.NoError(t, tr.PutOther("b", newNamespace(nil)))
	require.NoError(t, tr.PutOther("b", p))
	require.Empty(t, sources(tr.Snapshot()))
	require.Contains(t, messages(tr), "it has 1002 labels and named ports, more than 1000, the limit for one pod; it matches no policy")
	require.NoError(t, tr.PutOther("b", remotePod("shop", "p", 1, 1)))
	require.Equal(t, "b/shop/p", sources(tr.Snapshot()))
	require.Empty(t, tr.Problems())
}

// TestPeersDependOnTheObjectsAlone changes objects of two clusters at random and compares with a translator that has only seen the last state.
func TestPeersDependOnTheObjectsAlone(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 4))
		live := map[string]metav1.Object{}
		start := func() *translator.Translator {
			tr := translator.New(fewPeers())
			put(t, tr, newNamespace(nil), newPod("db", "10.0.0.1", "db", nil), newPolicy(t, "p", fromEverywhere))
			return tr
		}
		tr, refused := start(), 0
		for step := range 40 {
			for range 1 + r.IntN(6) {
				cluster, ns, n := []string{"b", "c"}[r.IntN(2)], []string{"shop", "ops"}[r.IntN(2)], r.IntN(5)
				kind, name := object.KindPod, fmt.Sprint("p", n)
				var o metav1.Object = remotePod(ns, name, n, n*7%5)
				if r.IntN(4) == 0 {
					kind, name, o = object.KindNamespace, ns, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{"n": fmt.Sprint(n)}}}
				}
				key := cluster + " " + kind + " " + ns + " " + name
				if r.IntN(4) == 0 {
					if kind == object.KindNamespace {
						tr.RemoveOther(cluster, kind, "", name)
					} else {
						tr.RemoveOther(cluster, kind, ns, name)
					}
					delete(live, key)
					continue
				}
				require.NoError(t, tr.PutOther(cluster, o))
				live[key] = o
			}
			fresh := start()
			for key, o := range live {
				require.NoError(t, fresh.PutOther(strings.Fields(key)[0], o))
			}
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "seed %d, step %d", seed, step)
			require.Equal(t, messages(fresh), messages(tr), "seed %d, step %d", seed, step)
			refused += strings.Count(messages(tr), "do not fit")
		}
		require.NotZero(t, refused)
	}
}
