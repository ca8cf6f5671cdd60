package probe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
)

func ask(t testing.TB, inv *world.World, text string, w question.Where) []probe.Answer {
	t.Helper()
	q, err := question.Parse(text)
	require.NoError(t, err)
	answers, err := probe.Of(inv, q, w)
	require.NoError(t, err, text)
	return answers
}

func TestQuestions(t *testing.T) {
	for _, tc := range []struct {
		text string
		want question.Question
		err  string
	}{
		{"shop/web-0->shop/db-0:tcp/5432", question.Question{From: "shop/web-0", To: "shop/db-0", Port: "tcp/5432"}, ""},
		{" shop/web-0 -> shop/db-0 tcp/5432 ", question.Question{From: "shop/web-0", To: "shop/db-0", Port: "tcp/5432"}, ""},
		{"a/b->c/d:80", question.Question{From: "a/b", To: "c/d", Port: "80"}, ""},
		{"a/b->c/d:UDP/dns", question.Question{From: "a/b", To: "c/d", Port: "UDP/dns"}, ""},
		{"a/b->c/d:icmp", question.Question{From: "a/b", To: "c/d", Port: "icmp"}, ""},
		{"a/b->10.0.0.1:80", question.Question{From: "a/b", To: "10.0.0.1", Port: "80"}, ""},
		{"fd00::1->fd00::2:tcp/80", question.Question{From: "fd00::1", To: "fd00::2", Port: "tcp/80"}, ""},
		{"fd00::1->fd00::2:80", question.Question{From: "fd00::1", To: "fd00::2:80"}, ""},
		{"fd00::1->[fd00::2]:80", question.Question{From: "fd00::1", To: "fd00::2", Port: "80"}, ""},
		{"a/b->svc/c/d:http", question.Question{From: "a/b", To: "svc/c/d:http"}, ""},
		{"a/b->svc/c/d:tcp/80", question.Question{From: "a/b", To: "svc/c/d", Port: "tcp/80"}, ""},
		{"a/b->node/n:tcp/22", question.Question{From: "a/b", To: "node/n", Port: "tcp/22"}, ""},
		{"a/b-", question.Question{}, `"a/b-": expected SRC->DST:tcp/80; quote it because of the shell`},
		{"a/b", question.Question{}, `"a/b": expected SRC->DST:tcp/80, such as shop/web-0->shop/db-0:tcp/5432`},
		{"->a", question.Question{}, `"->a": expected SRC->DST:tcp/80, such as shop/web-0->shop/db-0:tcp/5432`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := question.Parse(tc.text)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestErrorsSayWhatToDoNext(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, append(answerstest.ObjectsOf(t, answerstest.OddPods), answerstest.ObjectsOf(t, answerstest.ManyPods(5))...)))
	for _, tc := range []struct{ name, text, err string }{
		{"a typo", "shop/web0->shop/web-1:80", "from pod shop/web0: not found; did you mean shop/web-0, shop/web-1 or shop/web-2?"},
		{"no namespace", "shop/web-0->web-1:80", `to "web-1": expected NAMESPACE/NAME, KIND/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME or an address; did you mean shop/web-1?`},
		{"another namespace", "ship/web-4->shop/web-1:80", "from pod ship/web-4: not found; did you mean shop/web-4, shop/web-0 or shop/web-1?"},
		{"nothing like it", "elsewhere/completely-different->shop/web-1:80", "from pod elsewhere/completely-different: not found"},
		{"no port", "shop/web-0->shop/web-1", "shop/web-1: expected a port, such as shop/web-1:tcp/80"},
		{"no such protocol", "shop/web-0->shop/web-1:gre/1", `port "gre/1": expected tcp/80, udp/53, sctp/9999, tcp/NAME or icmp`},
		{"no such number", "shop/web-0->shop/web-1:tcp/70000", `port "tcp/70000": expected a number from 1 to 65535, or a port's name`},
		{"no such named port", "shop/web-0->shop/web-1:tcp/https", "shop/web-1 has no port tcp/https: it has tcp/http (8080)"},
		{"no named ports", "shop/web-0->10.9.9.9:tcp/https", "10.9.9.9 has no named ports: use a number instead of tcp/https"},
		{"a policy", "netpol/shop/x->shop/web-1:80", "from netpol/shop/x: a policy cannot be an end of a connection: expected a pod, a Service, a node or an address"},
		{"no service at all", "shop/web-0->svc/shop/db:80", "to service shop/db: not found; there is none"},
		{"no such node", "shop/web-0->node/m:80", "to node m: not found; did you mean n1?"},
		{"finished", "shop/done->shop/web-1:80", "from pod shop/done has finished (Succeeded) and has no connections"},
		{"no address", "shop/pending->shop/web-1:80", "from pod shop/pending has no address: its manifest needs status.podIPs, with addresses that no newer pod uses"},
		{"no family in common", "shop/web-0->fd00::1:tcp/80", "shop/web-0 and fd00::1 have no address family in common"},
		{"no match", "shop/missing-*->shop/web-1:80", `from "shop/missing-*": no pod with an address matches`},
		{"no selector", "shop/a=b=c->shop/web-1:80", `from "shop/a=b=c": found '=', expected: ',' or 'end of string'`},
		{"one pod only", "shop/web-1->shop/web-[1-1]*:80", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, err := question.Parse(tc.text)
			if err == nil {
				_, err = probe.Of(inv, q, question.Where{})
			}
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.err)
		})
	}
}

func TestDeniedSaysWhatIsMissing(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	got := ask(t, inv, "shop/web-0 -> shop/api-1:tcp/9000", question.Where{})
	require.Len(t, got, 1)
	a := got[0]
	require.Equal(t, probe.Deny, a.Verdict)
	require.Equal(t, "shop/web-0 -> shop/api-1 tcp/9000", a.Question)
	require.Len(t, a.Flows, 2, "one for each family")
	require.Equal(t, []string{"ipv4", "ipv6"}, []string{a.Flows[0].Family, a.Flows[1].Family})
	want := probe.Flow{
		Family: "ipv4", Source: "10.244.1.10", Destination: "10.244.2.20 tcp/9000", Verdict: probe.Deny,
		Egress: &probe.Side{
			Verdict: probe.Deny, IsolatedBy: []string{"NetworkPolicy/shop/allow-dns", "NetworkPolicy/shop/default-deny", "NetworkPolicy/shop/web"},
			Fitting: []string{"NetworkPolicy/shop/web"},
			NearMisses: []world.Rule{{
				Policy: "NetworkPolicy/shop/web", Path: "spec.egress[0]",
				Reason: "allows pods app=api with tcp port api at 9000 in namespace shop, but shop/api-1 does not match",
			}},
		},
		Ingress: &probe.Side{
			Verdict: probe.Deny, IsolatedBy: []string{"NetworkPolicy/shop/api", "NetworkPolicy/shop/default-deny"},
			Fitting:    []string{"NetworkPolicy/shop/api"},
			NearMisses: []world.Rule{{Policy: "NetworkPolicy/shop/api", Path: "spec.ingress[0]", Reason: "only allows tcp/9001"}},
		},
		Change: []string{
			"egress of shop/web-0: add a rule to shop/api-1 on tcp/9000 in NetworkPolicy/shop/web or a policy that selects only it",
			"ingress of shop/api-1: add a rule from shop/web-0 on tcp/9000 in NetworkPolicy/shop/api or a policy that selects only it",
		},
	}
	require.Equal(t, want, a.Flows[0])
}

func TestAllowedSaysByWhat(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	got := ask(t, inv, "web-0 -> api-0:tcp/api", question.Where{Namespace: "shop"})
	require.Equal(t, probe.Allow, got[0].Verdict)
	require.Equal(t, "tcp/9000", got[0].Port, "the port's name is that of the destination")
	f := got[0].Flows[0]
	require.Equal(t, []world.Rule{{Policy: "NetworkPolicy/shop/web", Path: "spec.egress[0]"}}, f.Egress.AllowedBy)
	require.Equal(t, []world.Rule{{Policy: "NetworkPolicy/shop/api", Path: "spec.ingress[0]"}}, f.Ingress.AllowedBy)
	require.Equal(t, []string{
		"egress of shop/web-0: remove NetworkPolicy/shop/web spec.egress[0]",
		"ingress of shop/api-0: remove NetworkPolicy/shop/api spec.ingress[0]",
	}, f.Change)

	got = ask(t, inv, "monitoring/prometheus-0 -> 203.0.113.9:tcp/443", question.Where{})
	require.Equal(t, probe.Allow, got[0].Verdict)
	require.Equal(t, []string{
		"egress of monitoring/prometheus-0: add a policy that selects it and has no rule to 203.0.113.9 on tcp/443",
	}, got[0].Flows[0].Change)

	got = ask(t, inv, "node/node-b -> shop/db-0:tcp/5432", question.Where{})
	require.Equal(t, probe.Allow, got[0].Verdict)
	require.Equal(t, []string{"ingress of shop/db-0: cannot be denied, because a node can always reach its own pods"}, got[0].Flows[0].Change)

	got = ask(t, inv, "shop/db-0 -> 10.244.2.30:tcp/5432", question.Where{})
	require.Equal(t, probe.Allow, got[0].Verdict)
	require.True(t, got[0].Flows[0].Egress.Itself)
	require.Equal(t, []string{"10.244.2.30 is the address of pod shop/db-0"}, got[0].Notes)
	require.Empty(t, got[0].Flows[0].Change)
}

func TestPatternsMeanEveryPodThatMatches(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	var asked []string
	for _, a := range ask(t, inv, "shop/web-* -> */app=api,app!=db:tcp/9000", question.Where{}) {
		asked = append(asked, a.Question+" "+string(a.Verdict))
	}
	require.Equal(t, []string{
		"shop/web-0 -> shop/api-0 tcp/9000 allow", "shop/web-1 -> shop/api-0 tcp/9000 allow",
		"shop/web-0 -> shop/api-1 tcp/9000 deny", "shop/web-1 -> shop/api-1 tcp/9000 deny",
	}, asked)
	require.Len(t, ask(t, inv, "shop/* -> shop/*:icmp", question.Where{}), 5*4, "no pod is asked about itself")
}

func TestEndsThatPoliciesSeeOtherwise(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.OddPods+answerstest.DenyAll)))
	got := ask(t, inv, "shop/agent -> shop/twin-a:tcp/80", question.Where{})
	require.Equal(t, []string{"shop/agent is on the host network: for policies it is node n1"}, got[0].Notes)
	require.Equal(t, probe.Allow, got[0].Verdict, "from the pod's own node")

	got = ask(t, inv, "10.8.0.1 -> 10.0.0.7:tcp/80", question.Where{})
	require.Equal(t, []string{"10.0.0.7 is the address of pods shop/twin-a and shop/twin-b: the policies of all of them apply"},
		got[0].Notes)
	require.Equal(t, probe.Deny, got[0].Verdict)
	require.Equal(t, []string{"NetworkPolicy/shop/deny"}, got[0].Flows[0].Ingress.IsolatedBy)

	got = ask(t, inv, "10.8.0.1 -> shop/agent:tcp/80", question.Where{})
	require.Equal(t, probe.Allow, got[0].Verdict, "nothing isolates the host network")
	got = ask(t, inv, "172.18.0.1 -> shop/twin-a:tcp/80", question.Where{})
	require.Equal(t, []string{"172.18.0.1 is an address of node n1"}, got[0].Notes)
}

func TestFamiliesMayDiffer(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.DualPods)))
	got := ask(t, inv, "shop/a -> shop/b:tcp/80", question.Where{})
	require.Equal(t, probe.Mixed, got[0].Verdict)
	require.Equal(t, probe.Allow, got[0].Flows[0].Verdict)
	require.Equal(t, probe.Deny, got[0].Flows[1].Verdict)
}

// TestProbeNamesTheTier asks why connections are allowed or denied, and what would change that.
func TestProbeNamesTheTier(t *testing.T) {
	inv := world.New(answerstest.Guarded(t))
	denied := ask(t, inv, "shop/web -> shop/db:22", question.Where{})[0]
	require.Equal(t, probe.Deny, denied.Verdict)
	egress := denied.Flows[0].Egress
	require.Equal(t, "admin", egress.Tier)
	require.Equal(t, `ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"`, egress.DeniedBy[0].String())
	require.Contains(t, denied.Flows[0].Change,
		`egress of shop/web: allow or pass it in a rule before ClusterNetworkPolicy/lockdown spec.egress[0] "no-ssh"`)

	baseline := ask(t, inv, "shop/db -> shop/web:80", question.Where{})[0].Flows[0]
	require.Equal(t, "baseline", baseline.Ingress.Tier)
	require.Equal(t, `ClusterNetworkPolicy/lockdown spec.egress[1] "shop-decides"`, baseline.Egress.PassedBy[0].String())
	require.Equal(t, probe.Allow, baseline.Egress.Verdict)
}
