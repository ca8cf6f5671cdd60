package explain_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/netloom/netloom/pkg/answers/explain"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

func explained(t testing.TB, inv *world.World, text string) explain.Object {
	t.Helper()
	e, err := explain.Of(inv, text, "shop")
	require.NoError(t, err)
	return e
}

func TestExplainPolicy(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	for _, text := range []string{"networkpolicy/shop/web", "NetworkPolicy/shop/web", "netpol/web"} {
		p := explained(t, inv, text).Policy
		require.Equal(t, "shop/web", p.Name)
		require.Len(t, p.Directions, 2)
		egress, ingress := p.Directions[0], p.Directions[1]
		require.Equal(t, "egress", egress.Direction)
		require.Equal(t, explain.Members{
			Title: "pods app=web in namespace shop", Count: 2, Pods: []string{"shop/web-0", "shop/web-1"},
		}, egress.Subject)
		require.Len(t, egress.Rules, 2, "one for each number of the named port")
		require.Equal(t, "spec.egress[0]", egress.Rules[0].Path)
		require.Equal(t, []string{"tcp/9000"}, egress.Rules[0].Ports)
		require.Equal(t, []string{"shop/api-0"}, egress.Rules[0].Peers.Pods)
		require.NotEmpty(t, ingress.Rules[0].Peers.Prefixes)
		require.Equal(t, 2, ingress.Rules[0].Subject.Count)
	}
	require.Equal(t, &intents.Logging{Allow: "info", Deny: "alert", Rate: 20},
		explained(t, inv, "netpol/shop/db").Policy.Directions[0].Log)
}

func TestExplainPod(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	p := explained(t, inv, "pod/shop/api-0").Pod
	require.Equal(t, "node-a", p.Node)
	require.Equal(t, []string{"10.244.1.20", "fd00:244:1::20"}, p.Addresses)
	require.Equal(t, []string{"api tcp/9000", "metrics tcp/9100"}, p.Ports)
	require.Equal(t, []string{"NetworkPolicy/shop/api", "NetworkPolicy/shop/default-deny"}, p.Ingress.IsolatedBy)
	require.Equal(t, []string{
		"monitoring/prometheus-0 tcp/9100 NetworkPolicy/shop/api spec.ingress[1]",
		"shop/web-0 shop/web-1 tcp/9000 NetworkPolicy/shop/api spec.ingress[0]",
		"node/node-a everything Node/node-a status.addresses",
	}, spellReach(p.Ingress))
	dns := "kube-system/coredns-0 tcp/53, udp/53 NetworkPolicy/shop/allow-dns spec.egress[0]"
	require.Equal(t, []string{dns, "shop/db-0 tcp/5432 NetworkPolicy/shop/api spec.egress[0]"}, spellReach(p.Egress))

	require.Equal(t, []string{dns}, spellReach(explained(t, inv, "pod/shop/db-0").Pod.Egress))
	open := explained(t, inv, "po/monitoring/prometheus-0").Pod.Egress
	require.Empty(t, open.IsolatedBy)
	require.Equal(t, []string{"kube-system/coredns-0 0.0.0.0/0 ::/0 everything", "shop/api-0 shop/api-1 tcp/9100"}, spellReach(open),
		"nodes that are nothing apart are outside")
}

// spellReach formats each row of a side on one line.
func spellReach(s *explain.Side) []string {
	var out []string
	for i := range s.Reach {
		r := &s.Reach[i]
		line := ""
		for _, p := range r.Pods {
			line += p + " "
		}
		for _, n := range r.Nodes {
			line += "node/" + n + " "
		}
		for _, p := range r.Outside {
			line += p.String() + " "
		}
		line += r.Ports
		for _, by := range r.By {
			line += " " + by.String()
		}
		if r.Family != "" {
			line += " over " + r.Family
		}
		out = append(out, line)
	}
	return out
}

func TestExplainPodsThatPoliciesSeeOtherwise(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.OddPods+answerstest.DenyAll)))
	require.Equal(t, "it is on the host network: for policies it is node n1", explained(t, inv, "pod/agent").Pod.Note)
	require.Equal(t, "it has finished: policies no longer apply to it", explained(t, inv, "pod/done").Pod.Note)
	require.Nil(t, explained(t, inv, "pod/done").Pod.Ingress)
	pending := explained(t, inv, "pod/pending").Pod
	require.Equal(t, "it has no address yet and cannot be reached; its isolation is in place", pending.Note)
	require.Empty(t, pending.Ingress.Reach)

	dual := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.DualPods)))
	require.Equal(t, []string{"shop/a 10.0.0.0/8 everything NetworkPolicy/shop/b spec.ingress[0] over ipv4"},
		spellReach(explained(t, dual, "pod/b").Pod.Ingress))
}

func TestExplainService(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.Shop)))
	s := explained(t, inv, "svc/db").Service
	require.Len(t, s.Frontends, 6)
	sql := s.Frontends[0]
	require.Equal(t, "tcp/10.96.0.10:5432 cluster sql", sql.Address+" "+sql.Kind+" "+sql.Port)
	require.Equal(t, []string{"shop/db-0", "shop/db-1"}, []string{sql.Backends[0].Pod, sql.Backends[1].Pod})
	require.Equal(t, "refused", s.Frontends[1].Empty)
	local := s.Frontends[slices.IndexFunc(s.Frontends, func(f explain.Frontend) bool {
		return f.Address == "tcp/172.18.0.2:30432"
	})]
	require.Len(t, local.Backends, 1, "those of its node only")
	require.Equal(t, "shop/db-1", local.Backends[0].Pod)
	require.Equal(t, []string{"Service/shop/db"}, explained(t, inv, "pod/db-0").Pod.Services)

	require.Equal(t, "it is headless: its name resolves to its pods", explained(t, inv, "svc/headless").Service.Note)
	require.Empty(t, explained(t, inv, "svc/headless").Service.Frontends)
}

func TestExplainInfersTheKind(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	for _, tc := range []struct{ text, err string }{
		{"pod/shop/api", "pod shop/api: not found; did you mean shop/api-0 or shop/api-1?"},
		{"policy/shop/web", `"policy/shop/web": "policy" is not a kind: expected NAMESPACE/NAME, KIND/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME or an address; did you mean networkpolicy/shop/web or service/shop/web?`},
		{"node/node-a", `"node/node-a": expected networkpolicy/NAMESPACE/NAME, pod/NAMESPACE/NAME, service/NAMESPACE/NAME, a workload such as deploy/NAMESPACE/NAME, clusternetworkpolicy/NAME or an existing SD-WAN object`},
		{"svc/shop/dbs", "service shop/dbs: not found; did you mean shop/db?"},
		{"svc/shop/db:1", "service shop/db has no port 1; it has tcp/5432 (postgres)"},
		{"pod/shop/web-0:80", `"pod/shop/web-0:80": only a Service has a port in its name: expected svc/NAMESPACE/NAME:80; did you mean pod/shop/web-0, pod/shop/web-1 or pod/shop/db-0?`},
	} {
		_, err := explain.Of(inv, tc.text, "")
		require.EqualError(t, err, tc.err)
	}
}

// TestReachIsWhatEvaluateSays compares the sides of every pod of random clusters with the verdict on each connection.
func TestReachIsWhatEvaluateSays(t *testing.T) {
	numbers := []uint16{1, 53, 79, 80, 81, 443, 8000, 8080, 9000, 65535}
	seeds.Each(t, "reaches", func(t *testing.T, seed uint64) {
		cluster := policygen.Generate(seed, policygen.Size{Odd: seed%3 == 0})
		state := answerstest.StateOf(t, policygen.Objects(cluster))
		inv := world.New(state)
		rng := policygen.NewRand(seed)
		for e := range state.View.Endpoints() {
			p := explained(t, inv, "pod/"+e.Key.Namespace+"/"+e.Key.Name).Pod
			for o := range state.View.Endpoints() {
				if o.Key == e.Key {
					continue
				}
				for i, addr := range firsts(e.Addrs) {
					other := firsts(o.Addrs)[i]
					if !addr.IsValid() || !other.IsValid() || addr == other {
						continue
					}
					number := numbers[rng.IntN(len(numbers))]
					me, you := intent.Party{Key: e.Key, Addr: addr}, intent.Party{Key: o.Key, Addr: other}
					name := o.Key.Namespace + "/" + o.Key.Name
					for _, side := range []struct {
						*explain.Side
						flow intent.Flow
					}{
						{p.Egress, intent.Flow{Src: me, Dst: you, Protocol: intent.TCP, Port: number}},
						{p.Ingress, intent.Flow{Src: you, Dst: me, Protocol: intent.TCP, Port: number}},
					} {
						want := state.Snapshot.Evaluate(side.flow).Allowed
						got := slices.ContainsFunc(side.Reach, func(r explain.Reach) bool {
							return slices.Contains(r.Pods, name) && r.Traffic().Has(intent.TCP, number) &&
								(r.Family == "" || r.Family == []string{"ipv4", "ipv6"}[i])
						})
						require.Equal(t, want, got, "seed %d: %+v", seed, side.flow)
					}
				}
			}
		}
	})
}

// firsts are the first IPv4 and the first IPv6 address.
func firsts(addrs []netip.Addr) [2]netip.Addr {
	var out [2]netip.Addr
	for _, a := range addrs {
		i := 0
		if !a.Is4() {
			i = 1
		}
		if !out[i].IsValid() {
			out[i] = a
		}
	}
	return out
}

func TestExplainAClusterWidePolicy(t *testing.T) {
	inv := world.New(answerstest.Guarded(t))
	priority := uint16(20)
	for _, text := range []string{"cnp/lockdown", "ClusterNetworkPolicy/lockdown", "clusternetworkpolicies/lockdown"} {
		p := explained(t, inv, text).Cluster
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
	}, explained(t, inv, "anp/older").Cluster.Findings)
	last := explained(t, inv, "banp/default").Cluster
	require.Equal(t, "baseline", last.Tier)
	require.Nil(t, last.Priority, "it comes after all that have one")
	require.Equal(t, []string{"lockdown", "closed"}, []string{inv.Names(name.ClusterNetworkPolicy)[1], inv.Names(name.ClusterNetworkPolicy)[0]})
	_, err := explain.Of(inv, "cnp/lockdwon", "shop")
	require.ErrorIs(t, err, name.ErrNotFound)
	require.ErrorContains(t, err, "did you mean lockdown?")
	_, err = probe.Of(inv, question.Question{From: "cnp/lockdown", To: "shop/db", Port: "80"}, question.Where{})
	require.ErrorContains(t, err, "a policy cannot be an end of a connection")
}

func TestExplainAPodUnderTiers(t *testing.T) {
	inv := world.New(answerstest.Guarded(t))
	twenty, seven := uint16(20), uint16(7)
	web := explained(t, inv, "pod/shop/web").Pod
	require.Equal(t, []explain.ClusterPolicy{
		{Policy: "ClusterNetworkPolicy/lockdown", Priority: &twenty}, {Policy: "AdminNetworkPolicy/older", Priority: &twenty},
	}, web.Egress.Admin)
	require.Equal(t, []explain.ClusterPolicy{
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
	db := explained(t, inv, "pod/shop/db").Pod
	require.Equal(t, []string{"NetworkPolicy/shop/db"}, db.Ingress.IsolatedBy)
	require.Equal(t, []string{"shop/web tcp/5432 NetworkPolicy/shop/db spec.ingress[0]"}, spellReach(db.Ingress),
		"the baseline tier does not decide for an isolated pod")
}
