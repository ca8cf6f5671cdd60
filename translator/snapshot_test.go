package translator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/policy"
)

// newPod is a running pod of the namespace shop with one address; ports are spelled name=number.
func newPod(name, address, app string, ports map[string]int32) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}}}
	c := corev1.Container{Name: "app"}
	for n, number := range ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: n, ContainerPort: number})
	}
	p.Spec.NodeName = "n1"
	p.Spec.Containers = []corev1.Container{c}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: address}}}
	return p
}

// newPolicy is a policy of the namespace shop; spec is YAML.
func newPolicy(t testing.TB, name, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &np.Spec))
	return np
}

func newNamespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
}

const (
	webToDB = `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}`
	teamIn  = `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: red}}}]}]}`
	named   = `{podSelector: {matchLabels: {app: db}}, ingress: [{ports: [{port: sql}], from: [{podSelector: {}}]}]}`
)

// start is a translator with objects, and its snapshot.
func start(t testing.TB, objects ...any) (*translator.Translator, *intent.Snapshot) {
	t.Helper()
	tr := translator.New(translator.Options{})
	put(t, tr, objects...)
	return tr, tr.Snapshot()
}

func put(t testing.TB, tr *translator.Translator, objects ...any) {
	t.Helper()
	for _, o := range objects {
		require.NoError(t, tr.Put(o))
	}
}

// only is the one change from a snapshot to its successor.
func only(t *testing.T, was, now *intent.Snapshot) intent.Change {
	t.Helper()
	changes, known := now.Since(was.Revision())
	require.True(t, known)
	require.Len(t, changes, 1)
	return changes[0]
}

func TestLabelChangeTranslatesNoPolicy(t *testing.T) {
	tr, was := start(t, newNamespace(nil), newPod("a", "10.0.0.1", "web", nil), newPod("b", "10.0.0.2", "db", nil),
		newPolicy(t, "np", webToDB), newPolicy(t, "team", teamIn))
	policy := was.Policy("NetworkPolicy/shop/np/ingress")

	put(t, tr, newPod("a", "10.0.0.1", "db", nil))
	now := tr.Snapshot()
	c := only(t, was, now)
	require.Empty(t, c.Policies)
	require.Empty(t, c.Sets)
	require.Len(t, c.Members, 2, "it left one set and joined another; the isolated were all pods already")
	require.Same(t, policy, now.Policy("NetworkPolicy/shop/np/ingress"))
	require.Equal(t, 0, now.Set(policy.Rules[0].Peer.Set).Len())
	require.Equal(t, 1, was.Set(policy.Rules[0].Peer.Set).Len(), "the old snapshot stands")

	put(t, tr, newNamespace(map[string]string{"team": "red"}))
	next := tr.Snapshot()
	c = only(t, now, next)
	require.Empty(t, c.Policies)
	require.Len(t, c.Members, 1)
	require.Len(t, c.Members[0].Joined, 2, "both pods of the namespace")

	tr.Remove(object.KindPod, "shop", "a")
	require.Empty(t, only(t, next, tr.Snapshot()).Policies)
}

func TestNoChangeIsTheSameSnapshot(t *testing.T) {
	tr, was := start(t, newNamespace(nil), newPod("a", "10.0.0.1", "web", nil), newPolicy(t, "np", webToDB))
	require.Same(t, was, tr.Snapshot(), "nothing was put")
	put(t, tr, newPod("a", "10.0.0.1", "web", nil), newPolicy(t, "np", webToDB), newNamespace(nil))
	require.Same(t, was, tr.Snapshot(), "all was put again")
	put(t, tr, newPod("a", "10.0.0.1", "web", map[string]int32{"http": 80}))
	require.Same(t, was, tr.Snapshot(), "no policy names the port")
	put(t, tr, newPod("a", "10.0.0.1", "db", nil))
	put(t, tr, newPod("a", "10.0.0.1", "web", nil))
	require.Same(t, was, tr.Snapshot(), "there and back between two snapshots")
	tr.Remove(object.KindPod, "shop", "never-was")
	tr.Remove(object.KindNetworkPolicy, "shop", "never-was")
	tr.Remove("Lease", "shop", "never-was")
	require.Same(t, was, tr.Snapshot(), "what was not there went")
	require.Error(t, tr.Put(&corev1.Secret{}))
}

func TestPolicyEditLeavesOthersAlone(t *testing.T) {
	tr, was := start(t, newNamespace(nil), newPod("a", "10.0.0.1", "db", nil), newPolicy(t, "a", webToDB), newPolicy(t, "b", webToDB))
	put(t, tr, newPolicy(t, "a", `{podSelector: {matchLabels: {app: db}}}`))
	now := tr.Snapshot()
	c := only(t, was, now)
	require.Equal(t, []intent.PolicyID{"NetworkPolicy/shop/a/ingress"}, c.Policies)
	require.Empty(t, c.Sets, "b still retains them all")
	require.Empty(t, c.Members)
	require.Same(t, was.Policy("NetworkPolicy/shop/b/ingress"), now.Policy("NetworkPolicy/shop/b/ingress"))

	tr.Remove(object.KindNetworkPolicy, "shop", "b")
	last := tr.Snapshot()
	c = only(t, now, last)
	require.Equal(t, []intent.PolicyID{"NetworkPolicy/shop/b/ingress"}, c.Policies)
	require.Len(t, c.Sets, 1, "the peers of b went with it, the subject stays")
	require.Nil(t, last.Set(c.Sets[0]))
	require.NotNil(t, now.Set(c.Sets[0]))
}

// TestNamedPortNumbers follows the rules of a named port while pods that declare it come, change and go.
func TestNamedPortNumbers(t *testing.T) {
	tr, s := start(t, newNamespace(nil), newPolicy(t, "np", named), newPolicy(t, "other", webToDB))
	other := s.Policy("NetworkPolicy/shop/other/ingress")
	for _, step := range []struct {
		name     string
		do       func()
		want     string // the ports of the rules
		rewrites bool   // the policy is another one
	}{
		{"no pod declares it", func() {}, "", false},
		{"the first number", func() { put(t, tr, newPod("a", "10.0.0.1", "db", map[string]int32{"sql": 5432})) }, "tcp/5432", true},
		{"one more pod with it", func() { put(t, tr, newPod("b", "10.0.0.2", "db", map[string]int32{"sql": 5432})) }, "tcp/5432", false},
		{"another number", func() { put(t, tr, newPod("c", "10.0.0.3", "db", map[string]int32{"sql": 3306})) }, "tcp/3306 tcp/5432", true},
		{"a pod that is not selected", func() { put(t, tr, newPod("d", "10.0.0.4", "web", map[string]int32{"sql": 1433})) }, "tcp/3306 tcp/5432", false},
		{"it is selected now", func() { put(t, tr, newPod("d", "10.0.0.4", "db", map[string]int32{"sql": 1433})) }, "tcp/1433 tcp/3306 tcp/5432", true},
		{"a pod with a number of its own goes", func() { tr.Remove(object.KindPod, "shop", "d") }, "tcp/3306 tcp/5432", true},
		{"one of two with a number goes", func() { tr.Remove(object.KindPod, "shop", "a") }, "tcp/3306 tcp/5432", false},
		{"the last with a number changes it", func() { put(t, tr, newPod("b", "10.0.0.2", "db", map[string]int32{"sql": 3306})) }, "tcp/3306", true},
		{"all go", func() {
			tr.Remove(object.KindPod, "shop", "b")
			tr.Remove(object.KindPod, "shop", "c")
		}, "", true},
	} {
		was := s.Policy("NetworkPolicy/shop/np/ingress")
		step.do()
		s = tr.Snapshot()
		now := s.Policy("NetworkPolicy/shop/np/ingress")
		var ports []string
		for _, r := range now.Rules {
			ports = append(ports, strings.Join(r.Ports.Strings(), " "))
			require.Positive(t, s.Set(r.Subject).Len(), step.name)
		}
		slices.Sort(ports)
		require.Equal(t, step.want, strings.Join(ports, " "), step.name)
		require.Equal(t, step.rewrites, was != now, step.name)
		require.Same(t, other, s.Policy(other.ID), step.name)
	}
	tr.Remove(object.KindNetworkPolicy, "shop", "np")
	tr.Remove(object.KindNetworkPolicy, "shop", "other")
	s = tr.Snapshot()
	require.Zero(t, s.SetCount())
	require.Zero(t, s.PolicyCount())
}

func TestIsolationCountsPolicies(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.2"}}
	tr, s := start(t, newNamespace(nil), node, newPod("a", "10.0.0.1", "web", nil), newPod("b", "10.0.0.2", "db", nil))
	require.Zero(t, s.PolicyCount(), "nothing is isolated, so a node needs no leave")
	require.Nil(t, s.Set(intent.IsolatedIngress))

	all := `{podSelector: {}}`
	both := `{podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress]}`
	remove := func(name string) func() { return func() { tr.Remove(object.KindNetworkPolicy, "shop", name) } }
	add := func(name, spec string) func() { return func() { put(t, tr, newPolicy(t, name, spec)) } }
	for _, step := range []struct {
		name            string
		do              func()
		ingress, egress int
		nodes           bool
	}{
		{"the first", add("one", both), 1, 1, true},
		{"the same pods once more", add("two", both), 1, 1, true},
		{"all pods", add("all", all), 2, 1, true},
		{"one of two goes", remove("one"), 2, 1, true},
		{"all pods no longer", remove("all"), 1, 1, true},
		{"egress alone", add("two", `{podSelector: {matchLabels: {app: db}}, policyTypes: [Egress]}`), 0, 1, false},
		{"the last goes", remove("two"), 0, 0, false},
		{"and comes back", add("two", all), 2, 0, true},
	} {
		step.do()
		s = tr.Snapshot()
		require.Equal(t, step.ingress, s.Set(intent.IsolatedIngress).Len(), step.name)
		require.Equal(t, step.egress, s.Set(intent.IsolatedEgress).Len(), step.name)
		require.Equal(t, step.egress == 0, s.Set(intent.IsolatedEgress) == nil, step.name)
		require.Equal(t, step.nodes, s.Policy("Node/n1/ingress") != nil, step.name)
	}
}

// TestFamilies checks that a backend learns when the first address of a family comes and the last one goes.
func TestFamilies(t *testing.T) {
	tr, s := start(t, newPod("a", "10.0.0.1", "web", nil))
	require.Equal(t, intent.IPv4, s.Families())
	put(t, tr, newPod("b", "fd00::1", "web", nil))
	both := tr.Snapshot()
	require.Equal(t, intent.IPv4|intent.IPv6, both.Families())
	require.True(t, only(t, s, both).Families)
	tr.Remove(object.KindPod, "shop", "b")
	require.Equal(t, intent.IPv4, tr.Snapshot().Families())

	fixed := translator.New(translator.Options{Families: intent.IPv6})
	put(t, fixed, newPod("a", "10.0.0.1", "web", nil))
	require.Equal(t, intent.IPv6, fixed.Snapshot().Families())
}

// TestProblemsGo checks that a problem goes with its cause.
func TestProblemsGo(t *testing.T) {
	bad := newPod("a", "10.0.0.300", "web", nil)
	tr, _ := start(t, bad, newPolicy(t, "np", `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: x}}]}]}`))
	ns := newNamespace(nil)
	ns.Annotations = map[string]string{policy.LoggingAnnotation: "loud"}
	put(t, tr, ns)
	tr.Snapshot()
	require.Len(t, tr.Problems(), 3, fmt.Sprint(tr.Problems()))
	put(t, tr, newPod("a", "10.0.0.3", "web", nil), newPolicy(t, "np", webToDB))
	tr.Remove(object.KindNamespace, "", "shop")
	tr.Snapshot()
	require.Empty(t, tr.Problems())
}
