package advice_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/webhook/advice"
)

// pod is a pod of node n1 in namespace shop that declares port web, 8080.
func pod(name, app, addr string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}}}
	p.Spec.NodeName = "n1"
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}}
	p.Status.PodIP, p.Status.PodIPs = addr, []corev1.PodIP{{IP: addr}}
	return p
}

func adviser(t *testing.T, maxFlows int) *advice.Adviser {
	t.Helper()
	explainer, err := builtin.NewExplainer(builtin.OVN, "advice", 0)
	require.NoError(t, err)
	a := advice.New(lint.Costs{MaxFlows: maxFlows, Explainer: explainer})
	require.NoError(t, a.Put(object.KindNamespace, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}}))
	require.NoError(t, a.Put(object.KindPod, pod("db-0", "db", "10.0.0.1")))
	require.NoError(t, a.Put(object.KindPod, pod("api-0", "api", "10.0.0.2")))
	return a
}

func policy(t *testing.T, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &np.Spec))
	return np
}

func TestAdvise(t *testing.T) {
	for _, tc := range []struct {
		name, spec string
		want       []string
	}{
		{
			name: "nothing to say",
			spec: `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: api}}}], ports: [{port: web}]}]}`,
		},
		{
			name: "a policy for all pods that allows nothing",
			spec: `{podSelector: {}, policyTypes: [Ingress, Egress]}`,
		},
		{
			name: "selects no pod, and so no named port is missed",
			spec: `{podSelector: {matchLabels: {app: bd}}, ingress: [{ports: [{port: web}]}]}`,
			want: []string{"spec.podSelector: selects no pod at present; did you mean app=db?"},
		},
		{
			name: "a port that no selected pod declares",
			spec: `{podSelector: {matchLabels: {app: db}}, ingress: [{ports: [{port: web}, {port: wbe}, {port: web, protocol: UDP}]}]}`,
			want: []string{
				`spec.ingress[0].ports[1].port: no selected pod declares a port "wbe" at present; did you mean "web"?`,
				`spec.ingress[0].ports[2].port: no selected pod declares a port "web" at present; it is declared with another protocol`,
			},
		},
		{
			name: "a port that no peer declares",
			spec: `{podSelector: {matchLabels: {app: api}}, policyTypes: [Egress],
				egress: [{to: [{podSelector: {matchLabels: {app: db}}}], ports: [{port: web}, {port: sql}]}]}`,
			want: []string{`spec.egress[0].ports[1].port: no pod of the peers declares a port "sql" at present`},
		},
		{
			name: "peers without pods",
			spec: `{podSelector: {matchLabels: {app: db}}, ingress: [
				{from: [{podSelector: {matchLabels: {app: aip}}}]},
				{from: [{podSelector: {matchLabels: {app: aip}}}, {ipBlock: {cidr: 10.0.0.0/8}}]},
				{from: [{namespaceSelector: {matchLabels: {team: shpo}}}]}]}`,
			want: []string{
				"spec.ingress[0].from[0]: matches no pod at present; did you mean app=api?",
				"spec.ingress[1].from[0]: matches no pod at present; did you mean app=api?",
				"spec.ingress[2].from[0]: matches no pod at present; did you mean team=shop?",
			},
		},
		{
			name: "excepts outside, and excepts that leave nothing",
			spec: `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [
				{ipBlock: {cidr: 10.0.0.0/8, except: [192.168.0.0/16, 10.1.0.0/16]}},
				{ipBlock: {cidr: 10.2.0.0/24, except: [10.2.0.0/25, 10.2.0.128/25]}}]}]}`,
			want: []string{
				"spec.ingress[0].from[0].ipBlock.except[0]: 192.168.0.0/16 is outside of 10.0.0.0/8 and excludes nothing",
				"spec.ingress[0].from[1].ipBlock.except: leaves nothing of 10.2.0.0/24",
			},
		},
		{
			name: "what the translator leaves out",
			spec: `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{ipBlock: {cidr: nonsense}}]}]}`,
			want: []string{`spec.ingress[0].from[0].ipBlock.cidr: "nonsense" is not a CIDR such as 10.0.0.0/8 or 2001:db8::/32; the element matches nothing`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := adviser(t, 1000)
			require.Equal(t, tc.want, a.Advise(policy(t, tc.spec)))
			require.Equal(t, tc.want, a.Advise(policy(t, tc.spec)), "nothing stays of it")
		})
	}
}

func TestAnAnnotationAcceptsFindings(t *testing.T) {
	a := adviser(t, 1000)
	np := policy(t, `{podSelector: {matchLabels: {app: later}}, ingress: [{from: [{ipBlock: {cidr: x}}]}]}`)
	np.Annotations = map[string]string{lint.IgnoreAnnotation: "selects-nothing its pods come next week\nnot-understood errors stay\nno-dns"}
	require.Equal(t, []string{
		`spec.ingress[0].from[0].ipBlock.cidr: "x" is not a CIDR such as 10.0.0.0/8 or 2001:db8::/32; the element matches nothing`,
		"metadata.annotations: no-dns: expected a reason after the rule",
	}, a.Advise(np))
}

func TestAdviceFollowsPods(t *testing.T) {
	a := adviser(t, 0)
	np := policy(t, `{podSelector: {matchLabels: {app: new}}}`)
	require.Len(t, a.Advise(np), 1)
	require.NoError(t, a.Put(object.KindPod, pod("new-0", "new", "10.0.0.3")))
	require.Empty(t, a.Advise(np))
	a.Remove(object.Ref{Kind: object.KindPod, Namespace: "shop", Name: "new-0"})
	require.Len(t, a.Advise(np), 1)
}

func TestCostIsThatOfTheNodeThatBearsMost(t *testing.T) {
	const spec = `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: many}}}], ports: [{port: 80, endPort: 90}]}]}`
	a := adviser(t, 50)
	for i := range 200 {
		require.NoError(t, a.Put(object.KindPod, pod(fmt.Sprint("many-", i), "many", fmt.Sprintf("10.1.0.%d", i+1))))
	}
	got := a.Advise(policy(t, spec))
	require.Len(t, got, 1)
	require.Regexp(t, `^spec: costs n1 about \d{3} OpenFlow flows, more than 50$`, got[0])
}

func TestAtMostSoMuchIsSaid(t *testing.T) {
	np := policy(t, `{podSelector: {}}`)
	for range 30 {
		np.Spec.Ingress = append(np.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "none"}},
		}}})
	}
	got := adviser(t, 0).Advise(np)
	require.Len(t, got, 11)
	require.Equal(t, "and 20 more", got[10])
}

// clusterPolicy returns a ClusterNetworkPolicy of the Admin tier, or another tier that its spec names.
func clusterPolicy(t testing.TB, name string, priority int, spec string) *policyv1alpha2.ClusterNetworkPolicy {
	t.Helper()
	p := &policyv1alpha2.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Tier, p.Spec.Priority = policyv1alpha2.AdminTier, int32(priority)
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	return p
}

const (
	lockdown = `{subject: {namespaces: {}}, ingress: [{name: no-ssh, action: Deny, from: [{namespaces: {}}],
		protocols: [{tcp: {destinationPort: {number: 22}}}]}], egress: [{name: none, action: Deny, to: [{networks: ["0.0.0.0/0", "::/0"]}]}]}`
	fromAPI = `from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: api}}}}]`
)

func TestAdviceAboutPrecedence(t *testing.T) {
	for _, tc := range []struct {
		name     string
		priority int
		spec     string
		want     []string
	}{
		{
			name: "a rule of its own", priority: 2,
			spec: `{subject: {namespaces: {}}, ingress: [{action: Accept, ` + fromAPI + `}]}`,
		},
		{
			name: "a rule after one that decides", priority: 2,
			spec: `{subject: {namespaces: {}}, ingress: [{name: ssh, action: Accept, ` + fromAPI + `, protocols: [{tcp: {destinationPort: {number: 22}}}]},
				{action: Accept, ` + fromAPI + `}]}`,
			want: []string{`spec.ingress[0] "ssh" never matches at present: what it matches is decided before by ClusterNetworkPolicy/lockdown spec.ingress[0] "no-ssh"`},
		},
		{
			name: "a policy after one that decides", priority: 2,
			spec: `{subject: {namespaces: {}}, egress: [{action: Accept, to: [{namespaces: {}}]}]}`,
			want: []string{`spec: egress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/lockdown spec.egress[0] "none"`},
		},
		{
			name: "what the adviser does not know may have an effect", priority: 2,
			spec: `{subject: {namespaces: {}}, egress: [{action: Accept, to: [{namespaces: {}}]}, {action: Accept, to: [{nodes: {}}]}]}`,
		},
		{
			name: "another action at the same priority", priority: 1,
			spec: `{subject: {namespaces: {}}, ingress: [{action: Accept, ` + fromAPI + `}]}`,
			want: []string{`spec.ingress[0] contradicts ClusterNetworkPolicy/lockdown spec.ingress[0] "no-ssh" of the same priority: their names decide which comes first`},
		},
		{
			name: "before the one that decides", priority: 0,
			spec: `{subject: {namespaces: {}}, ingress: [{action: Accept, ` + fromAPI + `, protocols: [{tcp: {destinationPort: {number: 22}}}]}]}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := adviser(t, 0)
			require.NoError(t, a.Put(object.KindClusterNetworkPolicy, clusterPolicy(t, "lockdown", 1, lockdown)))
			p := clusterPolicy(t, "new", tc.priority, tc.spec)
			require.Equal(t, tc.want, a.AdviseCluster(object.KindClusterNetworkPolicy, p))
			require.Equal(t, tc.want, a.AdviseCluster(object.KindClusterNetworkPolicy, p), "nothing stays of it")
		})
	}
}

// TestAdviceAboutANetworkPolicyBelowADeny also edits the policies that exist: the adviser compares with the others as they are, and
// with none that was only tried.
func TestAdviceAboutANetworkPolicyBelowADeny(t *testing.T) {
	const spec = `{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 53, protocol: UDP}]}]}`
	overridden := []string{`spec: egress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/lockdown spec.egress[0] "none"`}
	a := adviser(t, 0)
	deny, np := clusterPolicy(t, "lockdown", 1, lockdown), policy(t, spec)
	require.Empty(t, a.AdviseCluster(object.KindClusterNetworkPolicy, deny))
	require.Empty(t, a.Advise(np), "the other was only tried")
	require.NoError(t, a.Put(object.KindClusterNetworkPolicy, deny))
	require.Equal(t, overridden, a.Advise(np))
	require.NoError(t, a.Put(object.KindNetworkPolicy, np))
	require.Empty(t, a.AdviseCluster(object.KindClusterNetworkPolicy, clusterPolicy(t, "lockdown", 1, `{subject: {namespaces: {}}}`)))
	require.Equal(t, overridden, a.Advise(np), "what exists is back after a try")
	base := clusterPolicy(t, "base", 1, `{tier: Baseline, subject: {namespaces: {}}, egress: [{action: Deny, to: [{namespaces: {}}]}]}`)
	require.Len(t, a.AdviseCluster(object.KindClusterNetworkPolicy, base), 1)
	a.Remove(object.Ref{Kind: object.KindClusterNetworkPolicy, Name: "lockdown"})
	require.Empty(t, a.Advise(np))
	require.Equal(t, []string{"spec: egress: has no effect at present: what it matches is decided before by the isolation of its pods by NetworkPolicies"},
		a.AdviseCluster(object.KindClusterNetworkPolicy, base), "the NetworkPolicy is still there")
}

// large returns an adviser with many pods, and many policies of both kinds; each of those that are cluster-wide has subjects of its own.
func large(t testing.TB, pods, policies int) *advice.Adviser {
	t.Helper()
	a := advice.New(lint.Costs{})
	require.NoError(t, a.Put(object.KindNamespace, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	for i := range pods {
		p := pod(fmt.Sprint("p", i), fmt.Sprint("app", i%100), fmt.Sprintf("10.%d.%d.1", i/250, i%250))
		require.NoError(t, a.Put(object.KindPod, p))
	}
	for i := range policies {
		np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("p", i)}}
		np.Spec.PodSelector.MatchLabels = map[string]string{"app": fmt.Sprint("app", i%100)}
		require.NoError(t, a.Put(object.KindNetworkPolicy, np))
		cnp := clusterPolicy(t, fmt.Sprint("p", i), i, fmt.Sprintf(`{subject: {namespaces: {matchExpressions: [{key: team, operator: NotIn, values: [t%d]}]}}, ingress: [
			{action: Deny, from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: app%d}}}}], protocols: [{tcp: {destinationPort: {number: %d}}}]},
			{action: Accept, from: [{namespaces: {}}], protocols: [{udp: {destinationPort: {number: %d}}}]}]}`, i, i%100, i+1, i+1))
		require.NoError(t, a.Put(object.KindClusterNetworkPolicy, cnp))
	}
	return a
}

// all selects every pod, and has rules that nothing decides before.
const all = `{subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`

// TestComparisonsAreLimited compares a policy with ever more others: it gives up, and says so.
func TestComparisonsAreLimited(t *testing.T) {
	require.Empty(t, large(t, 500, 20).AdviseCluster(object.KindClusterNetworkPolicy, clusterPolicy(t, "new", 1000, all)))
	got := large(t, 2000, 500).AdviseCluster(object.KindClusterNetworkPolicy, clusterPolicy(t, "new", 1000, all))
	require.Equal(t, []string{"spec: not compared with all other policies: there are too many rules, or pods, to compare"}, got)
}

// BenchmarkAdvise advises in a cluster of 10,000 pods, 1,000 NetworkPolicies and 1,000 cluster-wide policies.
func BenchmarkAdvise(b *testing.B) {
	a := large(b, 10000, 1000)
	np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new"}}
	np.Spec.PodSelector.MatchLabels = map[string]string{"app": "app7"}
	a.Advise(np) // translates all others
	b.Run("NetworkPolicy", func(b *testing.B) {
		for b.Loop() {
			a.Advise(np)
		}
	})
	cnp := clusterPolicy(b, "new", 1000, all)
	b.Run("ClusterNetworkPolicy", func(b *testing.B) {
		for b.Loop() {
			a.AdviseCluster(object.KindClusterNetworkPolicy, cnp)
		}
	})
}
