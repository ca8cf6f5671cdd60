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
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// TestStagedCopiesChangeNothing translates random clusters with staged copies of all policies next to them, while both change: the
// intents, and with them all verdicts, are those of the cluster without copies.
func TestStagedCopiesChangeNothing(t *testing.T) {
	seeds.Each(t, "staged", func(t *testing.T, seed uint64) {
		cluster := policygen.Generate(seed, policygen.Size{Odd: seed%3 == 0, Cluster: int(seed % 4 * 3)})
		rng, order := policygen.NewRand(seed), newOrder(seed)
		plain, copied := translator.New(translator.Options{}), translator.New(translator.Options{})
		var before, beforeCopied map[key]any
		for step := range 8 {
			before = feed(t, order, plain, before, cluster)
			beforeCopied = feed(t, order, copied, beforeCopied, withCopies(cluster, order))
			require.Equal(t, dump(plain.Snapshot()), withoutObserved(dump(copied.Snapshot())), "seed %d step %d", seed, step)
			require.Equal(t, plain.Problems(), copied.Problems())
			require.Equal(t, plain.Hosts(), copied.Hosts())
			policygen.Mutate(cluster, rng)
		}
	})
}

// withoutObserved leaves out the sets of the pods whose connections staged policies have observed.
func withoutObserved(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "staged/") })
}

// withCopies adds staged copies of policies, most of the time with what another one says.
func withCopies(c *oracle.Cluster, rng *rand.Rand) *oracle.Cluster {
	out := *c
	for _, p := range c.Policies {
		other := c.Policies[rng.IntN(len(c.Policies))].DeepCopy()
		other.ObjectMeta = stagedCopy(&p.ObjectMeta)
		out.Policies = append(out.Policies, other)
	}
	for _, p := range c.ClusterPolicies {
		p = p.DeepCopy()
		p.ObjectMeta = stagedCopy(&p.ObjectMeta)
		out.ClusterPolicies = append(out.ClusterPolicies, p)
	}
	for _, p := range c.AdminPolicies {
		p = p.DeepCopy()
		p.ObjectMeta = stagedCopy(&p.ObjectMeta)
		out.AdminPolicies = append(out.AdminPolicies, p)
	}
	for _, p := range c.BaselinePolicies {
		p = p.DeepCopy()
		p.ObjectMeta = stagedCopy(&p.ObjectMeta)
		out.BaselinePolicies = append(out.BaselinePolicies, p)
	}
	return &out
}

func stagedCopy(of *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: of.Namespace, Name: of.Name + "-staged", UID: of.UID + "-staged",
		Annotations: map[string]string{object.EnforcementAnnotation: object.EnforcementStaged, object.StagesAnnotation: of.Name},
	}
}

// TestEnforcementDoesNotDependOnHistory moves random policies and namespaces between staged and enforced, by themselves and by values that
// are not understood, while everything else changes: the verdicts are the oracle's, and a translator that starts from scratch has the same
// intents.
func TestEnforcementDoesNotDependOnHistory(t *testing.T) {
	staged := 0
	seeds.Each(t, "enforcement", func(t *testing.T, seed uint64) {
		size := policygen.Size{Odd: seed%3 == 0, Cluster: int(seed % 4 * 3)}
		cluster := policygen.Generate(seed, size)
		rng, order := policygen.NewRand(seed), newOrder(seed)
		opts := translator.Options{PartsOnly: seed%5 < 2}
		tr := translator.New(opts)
		var fed map[key]any
		for step := range 10 {
			toggle(cluster, order)
			staged += countStaged(cluster)
			fed = feed(t, order, tr, fed, cluster)
			compare(t, fmt.Sprintf("seed %d step %d", seed, step), cluster, tr, rng)
			fresh := translator.New(opts)
			feed(t, order, fresh, nil, cluster)
			require.Equal(t, dump(fresh.Snapshot()), dump(tr.Snapshot()), "seed %d step %d: history shows", seed, step)
			require.Equal(t, fresh.Problems(), tr.Problems())
			policygen.Mutate(cluster, rng)
		}
	})
	require.NotZero(t, staged)
}

// toggle gives some policies and namespaces another annotation, or none.
func toggle(c *oracle.Cluster, rng *rand.Rand) {
	for i, p := range c.Policies {
		if rng.IntN(3) == 0 {
			c.Policies[i] = p.DeepCopy()
			annotate(c.Policies[i], rng)
		}
	}
	for i, p := range c.ClusterPolicies {
		if rng.IntN(3) == 0 {
			c.ClusterPolicies[i] = p.DeepCopy()
			annotate(c.ClusterPolicies[i], rng)
		}
	}
	for i, p := range c.AdminPolicies {
		if rng.IntN(3) == 0 {
			c.AdminPolicies[i] = p.DeepCopy()
			annotate(c.AdminPolicies[i], rng)
		}
	}
	for i, p := range c.BaselinePolicies {
		if rng.IntN(3) == 0 {
			c.BaselinePolicies[i] = p.DeepCopy()
			annotate(c.BaselinePolicies[i], rng)
		}
	}
	for i, n := range c.Namespaces {
		if rng.IntN(3) == 0 {
			c.Namespaces[i] = n.DeepCopy()
			annotate(c.Namespaces[i], rng)
		}
	}
}

func annotate(o metav1.Object, rng *rand.Rand) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	values := []string{"staged", "staged", "enforced", "Staged", ""}
	if n := rng.IntN(len(values) + 2); n < len(values) {
		annotations[object.EnforcementAnnotation] = values[n]
	} else {
		delete(annotations, object.EnforcementAnnotation)
	}
	o.SetAnnotations(annotations)
}

func countStaged(c *oracle.Cluster) int {
	n := 0
	for _, p := range c.Policies {
		if object.IsStaged(p.Annotations, nil) {
			n++
		}
	}
	return n
}

// TestUnknownEnforcementIsEnforced: a value that is not understood has the effect of none, whatever the namespace says, and is told.
func TestUnknownEnforcementIsEnforced(t *testing.T) {
	ns := newNamespace(nil)
	ns.Annotations = map[string]string{object.EnforcementAnnotation: "staged"}
	np := func(value string) *networkingv1.NetworkPolicy {
		p := newPolicy(t, "p", webToDB)
		p.Annotations = map[string]string{object.EnforcementAnnotation: value}
		return p
	}
	plain := newPolicy(t, "p", webToDB)
	_, want := start(t, newNamespace(nil), plain, newPod("web", "10.0.0.1", "web", nil), newPod("db", "10.0.0.2", "db", nil))
	require.NotEmpty(t, want.PolicyCount())
	for _, value := range []string{"enforced", "Staged", " staged", "staged ", "off", ""} {
		tr, s := start(t, ns, np(value), newPod("web", "10.0.0.1", "web", nil), newPod("db", "10.0.0.2", "db", nil))
		require.Equal(t, dump(want), dump(s), value)
		if value == "enforced" {
			require.Empty(t, tr.Problems())
			continue
		}
		require.Len(t, tr.Problems(), 1)
		require.Equal(t, fmt.Sprintf("NetworkPolicy/shop/p: metadata.annotations[netloom.io/enforcement]: %q: expected staged or enforced; "+
			"the policy is enforced", value), tr.Problems()[0].Error())
	}
	tr, s := start(t, ns, plain, newPod("db", "10.0.0.2", "db", nil))
	require.Zero(t, s.PolicyCount(), "the namespace decides")
	require.Empty(t, tr.Problems())
	tr.Remove(object.KindNamespace, "", "shop")
	require.NotZero(t, tr.Snapshot().PolicyCount(), "a namespace that is not known opens nothing")
	put(t, tr, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", Annotations: map[string]string{object.EnforcementAnnotation: "stagedd"},
	}})
	require.NotZero(t, tr.Snapshot().PolicyCount())
	require.Len(t, tr.Problems(), 1)
	require.Equal(t, `Namespace/shop: metadata.annotations[netloom.io/enforcement]: "stagedd": expected staged or enforced; its policies `+
		`are enforced`, tr.Problems()[0].Error())
}

// TestStagedPoliciesLeaveNothing: a policy that is staged retains no set but that of all such pods, and nothing stays of it when it goes.
func TestStagedPoliciesLeaveNothing(t *testing.T) {
	tr, _ := start(t)
	p := newPolicy(t, "p", named)
	put(t, tr, p)
	tr.Snapshot()
	staged := p.DeepCopy()
	staged.Annotations = map[string]string{object.EnforcementAnnotation: object.EnforcementStaged}
	put(t, tr, staged)
	require.Zero(t, tr.Snapshot().PolicyCount())
	require.Equal(t, 1, tr.Snapshot().SetCount())
	require.NotNil(t, tr.Snapshot().Set(intent.StagedIngress))
	tr.Remove(object.KindNetworkPolicy, "shop", "p")
	tr.Snapshot()
	require.True(t, translator.Empty(tr))
}

// TestStagedPoliciesHaveConnectionsObserved: the pods that a staged policy selects are observed in its directions, and those of the policy
// that it is to replace in the directions of that one, as both change.
func TestStagedPoliciesHaveConnectionsObserved(t *testing.T) {
	pod := func(name string) *corev1.Pod { return newPod(name, "10.0.0."+fmt.Sprint(len(name)), name, nil) }
	tr, _ := start(t, pod("a"), pod("bb"), pod("ccc"))
	observed := func(d intent.Direction) []string {
		names := []string{}
		if set := tr.Snapshot().Set(intent.StagedSet(d)); set != nil {
			for e := range set.Members.All() {
				names = append(names, e.Key.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	policy := func(name, app, replaces string, types ...networkingv1.PolicyType) *networkingv1.NetworkPolicy {
		np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		np.Spec.PodSelector.MatchLabels, np.Spec.PolicyTypes = map[string]string{"app": app}, types
		if replaces != "" {
			np.Annotations = map[string]string{object.EnforcementAnnotation: object.EnforcementStaged, object.StagesAnnotation: replaces}
		}
		return np
	}
	require.Empty(t, observed(intent.Ingress))
	put(t, tr, policy("staged", "a", "now", networkingv1.PolicyTypeIngress))
	require.Equal(t, []string{"a"}, observed(intent.Ingress))
	require.Empty(t, observed(intent.Egress))
	put(t, tr, policy("now", "bb", "", networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress))
	require.Equal(t, []string{"a", "bb"}, observed(intent.Ingress))
	require.Equal(t, []string{"bb"}, observed(intent.Egress))
	put(t, tr, policy("now", "ccc", "", networkingv1.PolicyTypeEgress))
	require.Equal(t, []string{"a"}, observed(intent.Ingress))
	require.Equal(t, []string{"ccc"}, observed(intent.Egress))
	tr.Remove(object.KindNetworkPolicy, "shop", "now")
	require.Empty(t, observed(intent.Egress))

	wide := policy("staged", "a", "now", networkingv1.PolicyTypeIngress)
	values := make([]string, 65)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	wide.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}}
	put(t, tr, wide)
	require.Empty(t, observed(intent.Ingress))
	require.Len(t, tr.Problems(), 1)
	require.Contains(t, tr.Problems()[0].Error(), "their connections are not observed")
	tr.Remove(object.KindNetworkPolicy, "shop", "staged")
	for _, name := range []string{"a", "bb", "ccc"} {
		tr.Remove(object.KindPod, "shop", name)
	}
	tr.Snapshot()
	require.True(t, translator.Empty(tr))
}
