package translator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// tight has room for some policies or Services of a namespace, and for those of little more than two namespaces.
func tight() translator.Options {
	return translator.Options{Shares: budget.All{
		Policies: budget.Shares{Namespace: 50 << 10, Total: 120 << 10},
		Services: budget.Shares{Namespace: 24 << 10, Total: 56 << 10},
		Pods:     budget.Shares{Namespace: 200 << 10, Total: 1 << 20},
	}}
}

func startTight(t testing.TB, objects ...any) *translator.Translator {
	t.Helper()
	tr := translator.New(tight())
	put(t, tr, objects...)
	tr.Snapshot()
	return tr
}

// aged gives an object a namespace and an age: 0 is the oldest.
func aged[O metav1.Object](o O, namespace string, age int) O {
	o.SetNamespace(namespace)
	o.SetCreationTimestamp(metav1.NewTime(time.Unix(int64(1000+age), 0)))
	return o
}

const (
	manyPrefixes = `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.1/32]}}]}]}` // 32 of 300 bytes
	everyPod     = `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{namespaceSelector: {}, podSelector: {}}]}]}`
)

// allowing lists the policies that allow anything, sorted.
func allowing(s *intent.Snapshot) string {
	var out []string
	for p := range s.Policies() {
		if len(p.Rules) > 0 {
			out = append(out, p.Origin.Namespace+"/"+p.Origin.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTheNewestPoliciesOfAFullNamespaceIsolate(t *testing.T) {
	objects := []any{newNamespace(nil), newPod("db", "10.0.0.1", "db", nil), aged(newPolicy(t, "mine", manyPrefixes), "other", 100)}
	for i := range 9 {
		objects = append(objects, aged(newPolicy(t, fmt.Sprint("p", i), manyPrefixes), "shop", i))
	}
	tr := startTight(t, objects...)
	s := tr.Snapshot()
	require.Equal(t, "other/mine shop/p0 shop/p1 shop/p2", allowing(s))
	isolating := 0
	for p := range s.Policies() {
		require.True(t, p.Isolates)
		if p.Origin.Namespace == "shop" {
			isolating++
			require.Equal(t, 1, s.Set(p.Subject).Len(), "%s isolates what it selects", p.Origin)
		}
	}
	require.Equal(t, 9, isolating)
	said := messages(tr)
	require.Equal(t, 7, strings.Count(said, "\n")+1, said)
	require.Contains(t, said, "Budget/shop/policies: the policies of namespace shop exceed their budget: 6 do not fit. "+
		"The others take 0.0 MiB of 0.0 MiB, the limit of a namespace; the largest is NetworkPolicy/shop/p0 with 0.0 MiB")
	require.Contains(t, said, "NetworkPolicy/shop/p3: spec: the policies of namespace shop exceed their budget, and this is one of the newest; "+
		"the pods that it selects are isolated and nothing is allowed")

	remove(tr, objects[3])
	require.Equal(t, "other/mine shop/p1 shop/p2 shop/p3", allowing(tr.Snapshot()))
	for _, o := range objects[4:] {
		remove(tr, o)
	}
	require.Equal(t, "other/mine", allowing(tr.Snapshot()))
	require.Empty(t, tr.Problems())
	for _, o := range objects {
		remove(tr, o)
	}
	tr.Snapshot()
	require.True(t, translator.Empty(tr), "what the rules of refused policies retained was released")
}

func TestWhatPoliciesSelectCounts(t *testing.T) {
	var pods []any
	for i := range 3000 {
		pods = append(pods, newPod(fmt.Sprint("pod", i), fmt.Sprintf("10.1.%d.%d", i/250, i%250), fmt.Sprint("app", i%2), nil))
	}
	one := `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: app0}}}]}]}`
	two := `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: app1}}}]}]}`
	tr := startTight(t, newNamespace(nil), aged(newPolicy(t, "a", one), "shop", 0), aged(newPolicy(t, "b", two), "shop", 1))
	require.Equal(t, "shop/a shop/b", allowing(tr.Snapshot()))
	put(t, tr, pods...)
	require.Equal(t, "shop/a", allowing(tr.Snapshot()), "16 bytes for each of 2,048 pods")
	put(t, tr, aged(newPolicy(t, "a2", one), "shop", 0))
	require.Equal(t, "shop/a shop/a2", allowing(tr.Snapshot()), "equal selectors cost a namespace once")
	remove(tr, aged(newPolicy(t, "a2", one), "shop", 0))
	for _, p := range pods[:2000] {
		remove(tr, p)
	}
	require.Equal(t, "shop/a shop/b", allowing(tr.Snapshot()))
}

func TestAPolicyBeyondAFullNamespaceWithManyValuesIsolatesAllOfIt(t *testing.T) {
	var objects []any
	for i := range 4 {
		objects = append(objects, aged(newPolicy(t, fmt.Sprint("p", i), manyPrefixes), "shop", i))
	}
	values := `{podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [` + strings.Repeat("a, ", 99) + `b]}]}}`
	tr := startTight(t, append(objects, newNamespace(nil), newPod("b", "10.0.0.1", "b", nil), aged(newPolicy(t, "values", values), "shop", 9))...)
	require.Contains(t, messages(tr), "NetworkPolicy/shop/values: spec.podSelector: it compares with more than 64 values")
	s := tr.Snapshot()
	for p := range s.Policies() {
		if p.Origin.Name == "values" {
			require.Equal(t, 1, s.Set(p.Subject).Len())
		}
	}
}

func TestTheNewestServicesOfAFullNamespaceLeadNowhere(t *testing.T) {
	var objects []any
	for i := range 30 {
		name := fmt.Sprintf("s%02d", i)
		objects = append(objects, aged(newService(t, name, 1, fmt.Sprintf(`{clusterIP: 10.96.0.%d, ports: [{port: 80}]}`, i+1)), "shop", i),
			newSlice(name, name, "10.0.0.1"))
	}
	tr := startTight(t, objects...)
	s := tr.Snapshot()
	require.Equal(t, "10.0.0.1", backends(s, "s00"))
	require.Equal(t, "10.0.0.1", backends(s, "s05"))
	require.Equal(t, "-", backends(s, "s29"))
	require.Contains(t, messages(tr), "Service/shop/s29: spec: the Services of namespace shop exceed their budget, and this is one of the newest; it has no load balancer")
	require.Contains(t, messages(tr), "Budget/shop/services: the Services of namespace shop exceed their budget")
	thief := aged(newService(t, "thief", 1, `{clusterIP: 10.97.0.1, externalIPs: [10.96.0.30], ports: [{port: 80}]}`), "other", 99)
	put(t, tr, thief)
	tr.Snapshot()
	require.Contains(t, messages(tr), "tcp/10.96.0.30:80 belongs to Service/shop/s29")
	for _, o := range append(objects, thief) {
		remove(tr, o)
	}
	tr.Snapshot()
	require.True(t, translator.Empty(tr))
}

// TestBudgetsDependOnTheObjectsAlone changes objects at random and compares with a translator that has only ever seen the last state.
func TestBudgetsDependOnTheObjectsAlone(t *testing.T) {
	specs := []string{manyPrefixes, everyPod, webToDB, teamIn, named, `{podSelector: {}, egress: [{ports: [{port: sql}]}]}`}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		live := map[string]any{}
		tr := translator.New(tight())
		change := func(key string, o any) {
			if live[key] != nil && o == nil {
				remove(tr, live[key])
				delete(live, key)
			} else if o != nil {
				put(t, tr, o)
				live[key] = o
			}
		}
		refused := 0
		for step := range 40 {
			for range 1 + r.IntN(12) {
				ns, n := fmt.Sprint("ns", r.IntN(4)), r.IntN(8)
				switch key := fmt.Sprint(ns, "/", n); r.IntN(6) {
				case 0:
					change(key, nil)
				case 1:
					pod := newPod(fmt.Sprint("pod", n), fmt.Sprintf("10.2.0.%d", n), []string{"db", "web"}[r.IntN(2)], map[string]int32{"sql": int32(5000 + r.IntN(3))})
					change("pod/"+fmt.Sprint(n), pod)
				default:
					change(key, aged(newPolicy(t, fmt.Sprint("p", n), specs[r.IntN(len(specs))]), ns, n*7%5))
				}
			}
			s := tr.Snapshot()
			fresh := translator.New(tight())
			for _, o := range live {
				put(t, fresh, o)
			}
			require.Equal(t, dump(fresh.Snapshot()), dump(s), "seed %d, step %d", seed, step)
			require.Equal(t, messages(fresh), messages(tr), "seed %d, step %d", seed, step)
			refused += strings.Count(messages(tr), "one of the newest")
		}
		require.NotZero(t, refused)
		for key := range live {
			change(key, nil)
		}
		tr.Snapshot()
		require.True(t, translator.Empty(tr), "seed %d", seed)
	}
}

// manyLabels is a pod with that many labels besides app.
func manyLabels(name, address string, n, age int) *corev1.Pod {
	p := aged(newPod(name, address, "db", nil), "shop", age)
	for i := range n {
		p.Labels[fmt.Sprint("k", i)] = "v"
	}
	return p
}

func TestAPodWithTooManyLabelsIsIsolated(t *testing.T) {
	large, web := manyLabels("large", "10.0.0.1", 1000, 0), newPod("web", "10.0.0.2", "web", nil)
	tr := startTight(t, newNamespace(nil), large, web)
	s := tr.Snapshot()
	require.Contains(t, messages(tr), "Pod/shop/large: metadata.labels: it has 1001 labels and named ports, more than 1000, the limit for one pod; "+
		"no policy selects it, and it is isolated in both directions")
	for _, d := range intent.Directions() {
		require.True(t, s.Set(intent.IsolatedSet(d)).Members.HasKey(object.Key{Namespace: "shop", Name: "large"}))
		require.Equal(t, 1, s.Set(intent.IsolatedSet(d)).Len())
	}
	put(t, tr, newPolicy(t, "all", `{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`))
	s = tr.Snapshot()
	for p := range s.Policies() {
		if p.Origin.Name == "all" {
			require.Equal(t, 1, s.Set(p.Subject).Len(), "it is no subject")
			require.Equal(t, 1, s.Set(p.Rules[0].Peer.Set).Len(), "and no peer")
		}
	}
	put(t, tr, manyLabels("large", "10.0.0.1", 10, 0))
	s = tr.Snapshot()
	require.Empty(t, tr.Problems())
	require.Nil(t, s.Set(intent.IsolatedEgress))
	for p := range s.Policies() {
		require.Equal(t, 2, s.Set(p.Subject).Len())
	}
	for _, o := range []any{newNamespace(nil), large, web, newPolicy(t, "all", `{podSelector: {}}`)} {
		remove(tr, o)
	}
	tr.Snapshot()
	require.True(t, translator.Empty(tr))
}

func TestTheNewestPodsOfANamespaceWithManyLabelsAreIsolated(t *testing.T) {
	var objects []any
	for i := range 6 {
		objects = append(objects, manyLabels(fmt.Sprint("large", i), fmt.Sprint("10.0.0.", i), 90, i)) // 65 KiB of 200
	}
	tr := startTight(t, append(objects, newNamespace(nil), manyLabels("plain", "10.0.0.9", 60, 9))...)
	isolated := func() int {
		set := tr.Snapshot().Set(intent.IsolatedIngress)
		if set == nil {
			return 0
		}
		return set.Len()
	}
	require.Equal(t, 3, isolated())
	require.Contains(t, messages(tr), "Budget/shop/pods: the labels and named ports of pods of namespace shop exceed their budget: 3 do not fit")
	require.Contains(t, messages(tr), "Pod/shop/large5: metadata.labels: the pods of namespace shop with more than 64 labels and named ports exceed their budget")
	remove(tr, objects[0])
	require.Equal(t, 2, isolated())
	remove(tr, objects[4])
	require.Equal(t, 1, isolated())
	put(t, tr, manyLabels("large1", "10.0.0.1", 5, 1))
	require.Zero(t, isolated())
	require.Empty(t, tr.Problems())
	for _, o := range append(objects, newNamespace(nil), manyLabels("plain", "", 0, 0)) {
		remove(tr, o)
	}
	tr.Snapshot()
	require.True(t, translator.Empty(tr))
}
