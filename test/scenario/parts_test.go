package scenario

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// alikeWalk is a cluster whose policies have much in common, with some that are to come, and a process for it on a schema that the seed selects.
type alikeWalk struct {
	*process

	rng      *rand.Rand
	nb       []byte // the schema
	c        *oracle.Cluster
	policies []*networkingv1.NetworkPolicy
}

func newAlikeWalk(t *testing.T, seed uint64) *alikeWalk {
	t.Helper()
	w := &alikeWalk{rng: policygen.NewRand(seed), nb: schema.NB2303()}
	if seed%2 == 0 {
		w.nb = schema.NB2503()
	}
	w.c = policygen.Generate(seed, policygen.Size{Cluster: 3 * int((seed-1)%4/2), Families: policygen.DualStack})
	w.policies = policygen.Alike(w.c, w.rng, 20)
	w.c.Policies = append(w.c.Policies, w.policies[:15]...)
	w.process = newProcess(t, ovntest.New(t, w.nb))
	return w
}

// put has the process read the cluster as it is now.
func (w *alikeWalk) put(t *testing.T) {
	t.Helper()
	w.write(t, manifests(t, w.c))
	w.answers = w.c.Answers
}

// step brings the rows to what the process has read, from changes alone unless it is the first step.
func (w *alikeWalk) step(t *testing.T, now string) {
	t.Helper()
	w.translate(t, false)
	if w.reached > 0 {
		plan, err := w.backend.Plan(t.Context(), w.snapshot, w.reached)
		require.NoError(t, err)
		require.False(t, plan.Resync || plan.Full, now)
	}
	w.reconcile(t)
}

// requireFresh requires the rows of a process that starts now.
func (w *alikeWalk) requireFresh(t *testing.T, now string) {
	t.Helper()
	rows := w.target.DumpOwner(t, owner)
	fresh := newProcess(t, ovntest.New(t, w.nb))
	fresh.write(t, manifests(t, w.c))
	fresh.answers = w.c.Answers
	fresh.translate(t, false)
	fresh.reconcile(t)
	require.Equal(t, fresh.target.DumpOwner(t, owner), rows, now)
}

// toggle lets one of the policies come or go.
func (w *alikeWalk) toggle() { policygen.Toggle(w.c, w.policies[w.rng.IntN(len(w.policies))]) }

// TestRulesInPartsChangeWithoutReadBack lets policies with much in common come and go while pods and namespaces change. What they have in
// common changes all the time. Each step is planned from changes alone, and its rows are those of a process that starts then.
func TestRulesInPartsChangeWithoutReadBack(t *testing.T) {
	seeds.Each(t, "partswalk", func(t *testing.T, seed uint64) {
		w := newAlikeWalk(t, seed)
		for step := range 10 {
			now := fmt.Sprintf("step %d", step)
			w.put(t)
			w.step(t, now)
			w.requireFresh(t, now)
			policygen.Mutate(w.c, w.rng)
			w.toggle()
		}
	})
}

// TestAZoneFollowsAListThatBecomesComposite has a list with members of its own because of a policy that selects no pod of the zone, and
// lowers rules that pass. When that policy goes, the rows of the zone still follow the pods of the list.
func TestAZoneFollowsAListThatBecomesComposite(t *testing.T) {
	parse := func(manifest string, into any) { require.NoError(t, yaml.UnmarshalStrict([]byte(manifest), into)) }
	pod := func(name, app, node, ip string) *corev1.Pod {
		var p corev1.Pod
		parse(fmt.Sprintf("{metadata: {namespace: shop, name: %s, labels: {app: %s}}, spec: {nodeName: %s}, "+
			"status: {phase: Running, podIP: %s, podIPs: [{ip: %s}]}}", name, app, node, ip, ip), &p)
		return &p
	}
	policy := func(name, spec string) *networkingv1.NetworkPolicy {
		var p networkingv1.NetworkPolicy
		parse(fmt.Sprintf("{metadata: {namespace: shop, name: %s}, spec: %s}", name, spec), &p)
		return &p
	}
	c := &oracle.Cluster{}
	for _, name := range []string{"n1", "n2"} {
		c.Nodes = append(c.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	c.Pods = []*corev1.Pod{
		pod("web", "web", "n2", "10.0.1.1"), pod("ops", "ops", "n2", "10.0.2.1"), pod("remote", "remote", "n2", "10.0.3.1"),
		pod("db", "db", "n1", "10.0.0.1"), pod("cache", "cache", "n1", "10.0.0.2"),
	}
	both := "from: [{podSelector: {matchLabels: {app: web}}}, {podSelector: {matchLabels: {app: ops}}}]"
	c.Policies = []*networkingv1.NetworkPolicy{
		policy("a", "{podSelector: {matchLabels: {app: db}}, ingress: [{"+both+"}]}"),
		policy("c", "{podSelector: {matchLabels: {app: cache}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}"),
		policy("other", "{podSelector: {matchLabels: {app: remote}}, ingress: [{"+both+", ports: [{protocol: TCP, port: 81}]}]}"),
	}
	var pass v1alpha2.ClusterNetworkPolicy
	parse("{metadata: {name: pass}, spec: {tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: ["+
		"{action: Pass, from: [{namespaces: {}}]}, {action: Deny, from: [{namespaces: {}}]}]}}", &pass)
	c.ClusterPolicies = []*v1alpha2.ClusterNetworkPolicy{&pass}

	inZone := func() *process {
		p := newProcess(t, ovntest.New(t, schema.NB2303()))
		p.node = "n1"
		p.restart(t)
		return p
	}
	follow := func(p *process) {
		p.write(t, manifests(t, c))
		p.translate(t, false)
		p.reconcile(t)
	}
	p := inZone()
	follow(p)
	c.Policies = c.Policies[:2]
	follow(p)
	c.Pods[0] = pod("web", "gone", "n2", "10.0.1.1")
	follow(p)
	fresh := inZone()
	follow(fresh)
	require.Equal(t, fresh.target.DumpOwner(t, owner), p.target.DumpOwner(t, owner))
}
