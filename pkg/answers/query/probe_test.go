package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/query"
)

func ask(t testing.TB, inv *query.Inventory, text string, w query.Where) []query.Answer {
	t.Helper()
	q, err := query.ParseQuestion(text)
	require.NoError(t, err)
	answers, err := inv.Probe(q, w)
	require.NoError(t, err, text)
	return answers
}

func TestQuestions(t *testing.T) {
	for _, tc := range []struct {
		text string
		want query.Question
		err  string
	}{
		{"shop/web-0->shop/db-0:tcp/5432", query.Question{From: "shop/web-0", To: "shop/db-0", Port: "tcp/5432"}, ""},
		{" shop/web-0 -> shop/db-0 tcp/5432 ", query.Question{From: "shop/web-0", To: "shop/db-0", Port: "tcp/5432"}, ""},
		{"a/b->c/d:80", query.Question{From: "a/b", To: "c/d", Port: "80"}, ""},
		{"a/b->c/d:UDP/dns", query.Question{From: "a/b", To: "c/d", Port: "UDP/dns"}, ""},
		{"a/b->c/d:icmp", query.Question{From: "a/b", To: "c/d", Port: "icmp"}, ""},
		{"a/b->10.0.0.1:80", query.Question{From: "a/b", To: "10.0.0.1", Port: "80"}, ""},
		{"fd00::1->fd00::2:tcp/80", query.Question{From: "fd00::1", To: "fd00::2", Port: "tcp/80"}, ""},
		{"fd00::1->fd00::2:80", query.Question{From: "fd00::1", To: "fd00::2:80"}, ""},
		{"fd00::1->[fd00::2]:80", query.Question{From: "fd00::1", To: "fd00::2", Port: "80"}, ""},
		{"a/b->svc/c/d:http", query.Question{From: "a/b", To: "svc/c/d:http"}, ""},
		{"a/b->svc/c/d:tcp/80", query.Question{From: "a/b", To: "svc/c/d", Port: "tcp/80"}, ""},
		{"a/b->node/n:tcp/22", query.Question{From: "a/b", To: "node/n", Port: "tcp/22"}, ""},
		{"a/b-", query.Question{}, `"a/b-": expected SRC->DST:tcp/80; quote it because of the shell`},
		{"a/b", query.Question{}, `"a/b": expected SRC->DST:tcp/80, such as shop/web-0->shop/db-0:tcp/5432`},
		{"->a", query.Question{}, `"->a": expected SRC->DST:tcp/80, such as shop/web-0->shop/db-0:tcp/5432`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := query.ParseQuestion(tc.text)
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
	inv := query.NewInventory(stateOf(t, append(objectsOf(t, oddPods), objectsOf(t, manyPods(5))...)))
	for _, tc := range []struct{ name, text, err string }{
		{"a typo", "shop/web0->shop/web-1:80", "from pod shop/web0: not found; did you mean shop/web-0, shop/web-1 or shop/web-2?"},
		{"no namespace", "shop/web-0->web-1:80", `to "web-1": expected NAMESPACE/NAME, node/NAME, svc/NAMESPACE/NAME or an address; did you mean shop/web-1?`},
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
			q, err := query.ParseQuestion(tc.text)
			if err == nil {
				_, err = inv.Probe(q, query.Where{})
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
	inv := query.NewInventory(examples(t))
	got := ask(t, inv, "shop/web-0 -> shop/api-1:tcp/9000", query.Where{})
	require.Len(t, got, 1)
	a := got[0]
	require.Equal(t, query.Deny, a.Verdict)
	require.Equal(t, "shop/web-0 -> shop/api-1 tcp/9000", a.Question)
	require.Len(t, a.Flows, 2, "one for each family")
	require.Equal(t, []string{"ipv4", "ipv6"}, []string{a.Flows[0].Family, a.Flows[1].Family})
	want := query.Flow{
		Family: "ipv4", Source: "10.244.1.10", Destination: "10.244.2.20 tcp/9000", Verdict: query.Deny,
		Egress: &query.Side{
			Verdict: query.Deny, IsolatedBy: []string{"NetworkPolicy/shop/allow-dns", "NetworkPolicy/shop/default-deny", "NetworkPolicy/shop/web"},
			NearMisses: []query.Rule{{
				Policy: "NetworkPolicy/shop/web", Path: "spec.egress[0]",
				Reason: "allows pods app=api with tcp port api at 9000 in namespace shop, but shop/api-1 does not match",
			}},
		},
		Ingress: &query.Side{
			Verdict: query.Deny, IsolatedBy: []string{"NetworkPolicy/shop/api", "NetworkPolicy/shop/default-deny"},
			NearMisses: []query.Rule{{Policy: "NetworkPolicy/shop/api", Path: "spec.ingress[0]", Reason: "only allows tcp/9001"}},
		},
		Change: []string{
			"egress of shop/web-0: add a rule to shop/api-1 on tcp/9000 in NetworkPolicy/shop/allow-dns, NetworkPolicy/shop/default-deny, NetworkPolicy/shop/web or another policy that selects it",
			"ingress of shop/api-1: add a rule from shop/web-0 on tcp/9000 in NetworkPolicy/shop/api, NetworkPolicy/shop/default-deny or another policy that selects it",
		},
	}
	require.Equal(t, want, a.Flows[0])
}

func TestAllowedSaysByWhat(t *testing.T) {
	inv := query.NewInventory(examples(t))
	got := ask(t, inv, "web-0 -> api-0:tcp/api", query.Where{Namespace: "shop"})
	require.Equal(t, query.Allow, got[0].Verdict)
	require.Equal(t, "tcp/9000", got[0].Port, "the port's name is that of the destination")
	f := got[0].Flows[0]
	require.Equal(t, []query.Rule{{Policy: "NetworkPolicy/shop/web", Path: "spec.egress[0]"}}, f.Egress.AllowedBy)
	require.Equal(t, []query.Rule{{Policy: "NetworkPolicy/shop/api", Path: "spec.ingress[0]"}}, f.Ingress.AllowedBy)
	require.Equal(t, []string{
		"egress of shop/web-0: remove NetworkPolicy/shop/web spec.egress[0]",
		"ingress of shop/api-0: remove NetworkPolicy/shop/api spec.ingress[0]",
	}, f.Change)

	got = ask(t, inv, "monitoring/prometheus-0 -> 203.0.113.9:tcp/443", query.Where{})
	require.Equal(t, query.Allow, got[0].Verdict)
	require.Equal(t, []string{
		"egress of monitoring/prometheus-0: add a policy that selects it and has no rule to 203.0.113.9 on tcp/443",
	}, got[0].Flows[0].Change)

	got = ask(t, inv, "node/node-b -> shop/db-0:tcp/5432", query.Where{})
	require.Equal(t, query.Allow, got[0].Verdict)
	require.Equal(t, []string{"ingress of shop/db-0: cannot be denied, because a node can always reach its own pods"}, got[0].Flows[0].Change)

	got = ask(t, inv, "shop/db-0 -> 10.244.2.30:tcp/5432", query.Where{})
	require.Equal(t, query.Allow, got[0].Verdict)
	require.True(t, got[0].Flows[0].Egress.Itself)
	require.Equal(t, []string{"10.244.2.30 is the address of pod shop/db-0"}, got[0].Notes)
	require.Empty(t, got[0].Flows[0].Change)
}

func TestPatternsMeanEveryPodThatMatches(t *testing.T) {
	inv := query.NewInventory(examples(t))
	var asked []string
	for _, a := range ask(t, inv, "shop/web-* -> */app=api,app!=db:tcp/9000", query.Where{}) {
		asked = append(asked, a.Question+" "+string(a.Verdict))
	}
	require.Equal(t, []string{
		"shop/web-0 -> shop/api-0 tcp/9000 allow", "shop/web-1 -> shop/api-0 tcp/9000 allow",
		"shop/web-0 -> shop/api-1 tcp/9000 deny", "shop/web-1 -> shop/api-1 tcp/9000 deny",
	}, asked)
	require.Len(t, ask(t, inv, "shop/* -> shop/*:icmp", query.Where{}), 5*4, "no pod is asked about itself")
}

func TestEndsThatPoliciesSeeOtherwise(t *testing.T) {
	inv := query.NewInventory(stateOf(t, objectsOf(t, oddPods+denyAll)))
	got := ask(t, inv, "shop/agent -> shop/twin-a:tcp/80", query.Where{})
	require.Equal(t, []string{"shop/agent is on the host network: for policies it is node n1"}, got[0].Notes)
	require.Equal(t, query.Allow, got[0].Verdict, "from the pod's own node")

	got = ask(t, inv, "10.8.0.1 -> 10.0.0.7:tcp/80", query.Where{})
	require.Equal(t, []string{"10.0.0.7 is the address of pods shop/twin-a and shop/twin-b: the policies of all of them apply"},
		got[0].Notes)
	require.Equal(t, query.Deny, got[0].Verdict)
	require.Equal(t, []string{"NetworkPolicy/shop/deny"}, got[0].Flows[0].Ingress.IsolatedBy)

	got = ask(t, inv, "10.8.0.1 -> shop/agent:tcp/80", query.Where{})
	require.Equal(t, query.Allow, got[0].Verdict, "nothing isolates the host network")
	got = ask(t, inv, "172.18.0.1 -> shop/twin-a:tcp/80", query.Where{})
	require.Equal(t, []string{"172.18.0.1 is an address of node n1"}, got[0].Notes)
}

func TestFamiliesMayDiffer(t *testing.T) {
	inv := query.NewInventory(stateOf(t, objectsOf(t, dualPods)))
	got := ask(t, inv, "shop/a -> shop/b:tcp/80", query.Where{})
	require.Equal(t, query.Mixed, got[0].Verdict)
	require.Equal(t, query.Allow, got[0].Flows[0].Verdict)
	require.Equal(t, query.Deny, got[0].Flows[1].Verdict)
}
