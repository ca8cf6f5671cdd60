package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/query"
)

// guarded is two pods, a NetworkPolicy for one of them, and a policy of each cluster-wide kind.
func guarded(t testing.TB) query.State {
	t.Helper()
	objects := objectsOf(t, `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {}}], ports: [{port: 5432}]}]
`)
	return stateOf(t, append(objects, cluster(t)...))
}

func cluster(t testing.TB) []runtime.Object {
	t.Helper()
	admin, baseline := &v1alpha2.ClusterNetworkPolicy{}, &v1alpha2.ClusterNetworkPolicy{}
	older, last := &v1alpha1.AdminNetworkPolicy{}, &v1alpha1.BaselineAdminNetworkPolicy{}
	for _, o := range []struct {
		object any
		text   string
	}{
		{admin, `
metadata: {name: lockdown}
spec:
  tier: Admin
  priority: 20
  subject: {namespaces: {}}
  egress:
  - {name: no-ssh, action: Deny, to: [{networks: [0.0.0.0/0]}], protocols: [{tcp: {destinationPort: {number: 22}}}]}
  - {name: shop-decides, action: Pass, to: [{namespaces: {}}]}
  - {name: too-late, action: Accept, to: [{networks: [10.0.0.0/8]}], protocols: [{tcp: {destinationPort: {number: 22}}}]}
`},
		{baseline, `
metadata: {name: closed}
spec:
  tier: Baseline
  priority: 7
  subject: {namespaces: {}}
  ingress:
  - {name: inside, action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}}]}
`},
		{older, `
metadata: {name: older}
spec:
  priority: 20
  subject: {namespaces: {}}
  egress:
  - {name: ssh, action: Allow, to: [{networks: [10.0.0.0/8]}], ports: [{portNumber: {protocol: TCP, port: 22}}]}
`},
		{last, `
metadata: {name: default}
spec:
  subject: {namespaces: {}}
  ingress:
  - {action: Deny, from: [{namespaces: {}}], ports: [{portNumber: {protocol: TCP, port: 81}}]}
`},
	} {
		require.NoError(t, yaml.UnmarshalStrict([]byte(o.text), o.object))
	}
	return []runtime.Object{admin, baseline, older, last}
}

func TestExplainAClusterWidePolicy(t *testing.T) {
	inv := query.NewInventory(guarded(t))
	priority := uint16(20)
	for _, text := range []string{"cnp/lockdown", "ClusterNetworkPolicy/lockdown", "clusternetworkpolicies/lockdown"} {
		p := explain(t, inv, text).Cluster
		require.Equal(t, "ClusterNetworkPolicy", p.Kind)
		require.Equal(t, "lockdown", p.Name)
		require.Equal(t, "admin", p.Tier)
		require.Equal(t, &priority, p.Priority)
		require.Len(t, p.Directions, 1)
		require.Equal(t, []string{"shop/db", "shop/web"}, p.Directions[0].Subject.Pods)
		var rules []string
		for _, r := range p.Directions[0].Rules {
			rules = append(rules, r.Path+" "+r.Name+" "+r.Action)
		}
		require.Equal(t, []string{
			"spec.egress[0] no-ssh deny", "spec.egress[1] shop-decides pass", "spec.egress[2] too-late allow",
		}, rules)
		require.Equal(t, []string{
			`spec.egress[2] "too-late" never matches at present: what it matches is decided before by ` +
				`ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"`,
			`spec.egress[0] "no-ssh" contradicts AdminNetworkPolicy/older spec.egress[0] "ssh" of the same priority: ` +
				`their names decide which comes first`,
		}, p.Findings)
	}
	require.Equal(t, []string{
		"egress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/lockdown spec.egress[0] \"no-ssh\"",
		`spec.egress[0] "ssh" contradicts ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh" of the same priority: ` +
			`their names decide which comes first`,
	}, explain(t, inv, "anp/older").Cluster.Findings)
	last := explain(t, inv, "banp/default").Cluster
	require.Equal(t, "baseline", last.Tier)
	require.Nil(t, last.Priority, "it comes after all that have one")
	require.Equal(t, []string{"lockdown", "closed"}, []string{inv.Names(query.KindClusterPolicy)[1], inv.Names(query.KindClusterPolicy)[0]})
	_, err := inv.Explain("cnp/lockdwon", "shop")
	require.ErrorIs(t, err, query.ErrNotFound)
	require.ErrorContains(t, err, "did you mean lockdown?")
	_, err = inv.Probe(query.Question{From: "cnp/lockdown", To: "shop/db", Port: "80"}, query.Where{})
	require.ErrorContains(t, err, "a policy cannot be an end of a connection")
}

func TestExplainAPodUnderTiers(t *testing.T) {
	inv := query.NewInventory(guarded(t))
	twenty, seven := uint16(20), uint16(7)
	web := explain(t, inv, "pod/shop/web").Pod
	require.Equal(t, []query.ClusterPolicy{
		{Policy: "ClusterNetworkPolicy/lockdown", Priority: &twenty}, {Policy: "AdminNetworkPolicy/older", Priority: &twenty},
	}, web.Egress.Admin)
	require.Equal(t, []query.ClusterPolicy{
		{Policy: "ClusterNetworkPolicy/closed", Priority: &seven}, {Policy: "BaselineAdminNetworkPolicy/default"},
	}, web.Ingress.Baseline)
	require.Equal(t, []string{
		`shop/db everything except tcp/22, tcp/80-81 ClusterNetworkPolicy/closed spec.ingress[0] "inside" (deny)` +
			` BaselineAdminNetworkPolicy/default spec.ingress[0] (deny)`,
		"0.0.0.0/0 everything",
	}, spellReach(web.Ingress))
	require.Equal(t, []string{
		`shop/db tcp/5432 ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh" (deny)` +
			` ClusterNetworkPolicy/lockdown spec.egress[1] "shop-decides" (pass)` +
			` ClusterNetworkPolicy/lockdown spec.egress[2] "too-late" AdminNetworkPolicy/older spec.egress[0] "ssh"`,
	}, spellReach(web.Egress)[:1])
	db := explain(t, inv, "pod/shop/db").Pod
	require.Equal(t, []string{"NetworkPolicy/shop/db"}, db.Ingress.IsolatedBy)
	require.Equal(t, []string{"shop/web tcp/5432 NetworkPolicy/shop/db spec.ingress[0]"}, spellReach(db.Ingress),
		"the baseline tier does not decide for an isolated pod")
}

func TestImpactOfAClusterWidePolicy(t *testing.T) {
	state := guarded(t)
	objects := objectsOf(t, `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
`)
	got := query.Compare(stateOf(t, objects), state)
	var closed []string
	for _, c := range got.Changes {
		require.Empty(t, c.Opened)
		if len(c.From.Pods) > 0 && len(c.To.Pods) > 0 {
			closed = append(closed, c.From.Pods[0]+" -> "+c.To.Pods[0]+" "+c.Closed)
		}
	}
	require.Equal(t, []string{"shop/db -> shop/web tcp/22, tcp/80-81", "shop/web -> shop/db everything except tcp/5432"}, closed)
}

func TestIntentsOfClusterWidePolicies(t *testing.T) {
	twenty, last := uint16(20), uint16(1001)
	found := map[string]query.PolicyIntent{}
	for _, p := range query.IntentsOf(guarded(t).Snapshot).Policies {
		found[p.Origin+" "+p.Direction] = p
	}
	lockdown := found["ClusterNetworkPolicy/lockdown egress"]
	require.Equal(t, "admin", lockdown.Tier)
	require.Equal(t, &twenty, lockdown.Priority)
	require.Equal(t, "no-ssh", lockdown.Rules[0].Name)
	require.Equal(t, "pass", lockdown.Rules[1].Action)
	require.Equal(t, "baseline", found["BaselineAdminNetworkPolicy/default ingress"].Tier)
	require.Equal(t, &last, found["BaselineAdminNetworkPolicy/default ingress"].Priority)
	require.Empty(t, found["NetworkPolicy/shop/db ingress"].Tier)
	require.Nil(t, found["NetworkPolicy/shop/db ingress"].Priority)
}

// TestProbeNamesTheTier asks why connections are allowed or denied, and what would change that.
func TestProbeNamesTheTier(t *testing.T) {
	inv := query.NewInventory(guarded(t))
	denied := ask(t, inv, "shop/web -> shop/db:22", query.Where{})[0]
	require.Equal(t, query.Deny, denied.Verdict)
	egress := denied.Flows[0].Egress
	require.Equal(t, "admin", egress.Tier)
	require.Equal(t, `ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"`, egress.DeniedBy[0].String())
	require.Contains(t, denied.Flows[0].Change,
		`egress of shop/web: allow or pass it in a rule before ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"`)

	baseline := ask(t, inv, "shop/db -> shop/web:80", query.Where{})[0].Flows[0]
	require.Equal(t, "baseline", baseline.Ingress.Tier)
	require.Equal(t, `ClusterNetworkPolicy/lockdown spec.egress[1] "shop-decides"`, baseline.Egress.PassedBy[0].String())
	require.Equal(t, query.Allow, baseline.Egress.Verdict)
}

func TestExpectationsUnderTiers(t *testing.T) {
	got := query.NewInventory(guarded(t)).Check(expectations(t, `
expectations:
- {from: shop/web, to: shop/db, ports: [22, 80], expect: deny}
- {from: shop/web, to: shop/db, ports: [5432], expect: allow}
- {from: shop/db, to: shop/web, ports: [82], expect: allow}
- {from: shop/db, to: shop/web, ports: [81], expect: allow}
`))
	require.Equal(t, 3, got.Passed)
	require.Equal(t, "baseline", got.Results[3].Failures[0].Flows[0].Ingress.Tier)
}
