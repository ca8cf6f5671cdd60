package probe_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
)

func TestAServiceIsJudgedByItsEndpoints(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.Shop)))
	for _, text := range []string{
		"shop/web -> svc/shop/db:5432", "shop/web -> svc/shop/db:sql", "shop/web -> svc/shop/db:tcp/5432",
		"shop/web -> service/shop/db:tcp/sql",
	} {
		got := ask(t, inv, text, question.Where{})[0]
		require.Equal(t, "shop/web -> svc/shop/db tcp/5432", got.Question)
		require.Equal(t, probe.Mixed, got.Verdict)
		f := got.Flows[0]
		require.Equal(t, "10.96.0.10 tcp/5432", f.Destination)
		require.Nil(t, f.Egress)
		b := f.Service
		require.Equal(t, "Service/shop/db tcp/10.96.0.10:5432 cluster sent on",
			b.Service+" "+b.Frontend+" "+b.Kind+" "+b.Outcome)
		require.Len(t, b.Choices, 2)
		require.Equal(t, "10.0.0.2:15432 shop/db-0 n1", b.Choices[0].Address+" "+b.Choices[0].Pod+" "+b.Choices[0].Node)
		require.Equal(t, probe.Allow, b.Choices[0].Verdict)
		require.Equal(t, probe.Deny, b.Choices[1].Verdict)
		require.Equal(t, []string{"NetworkPolicy/shop/locked"}, b.Choices[1].Ingress.IsolatedBy)
		require.Equal(t, []string{
			"ingress of shop/db-1: add a rule from shop/web on tcp/15432 in NetworkPolicy/shop/locked or a policy that selects only it",
		}, b.Choices[1].Change)
	}
	require.Equal(t, "svc/shop/db:sql", ask(t, inv, "web -> svc/db:sql", question.Where{Namespace: "shop"})[0].To[:15])
}

func TestAServiceMayLeadNowhere(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.Shop)))
	for _, tc := range []struct {
		name, text string
		where      question.Where
		verdict    probe.Verdict
		outcome    string
		change     string
	}{
		{"no endpoint", "shop/web -> svc/shop/empty", question.Where{}, probe.Refuse, "refused", "Service/shop/empty has no endpoint: add a pod that is ready"},
		{"its address says the same", "shop/web -> 10.96.0.11:80", question.Where{}, probe.Refuse, "refused", "Service/shop/empty has no endpoint: add a pod that is ready"},
		{"another port is no frontend", "shop/web -> 10.96.0.11:81", question.Where{}, probe.Allow, "", ""},
		{"a node's own endpoint", "8.8.8.8 -> node/n1:tcp/30432", question.Where{}, probe.Allow, "sent on", ""},
		{"a node's own endpoint that is locked", "8.8.8.8 -> 172.18.0.2:30432", question.Where{}, probe.Deny, "sent on", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ask(t, inv, tc.text, tc.where)[0]
			require.Equal(t, tc.verdict, got.Verdict)
			if tc.outcome == "" {
				require.Nil(t, got.Flows[0].Service)
				return
			}
			require.Equal(t, tc.outcome, got.Flows[0].Service.Outcome)
			if tc.change != "" {
				require.Equal(t, []string{tc.change}, got.Flows[0].Change)
			}
		})
	}
}

func TestErrorsAboutServices(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.Shop)))
	for _, tc := range []struct{ text, err string }{
		{"shop/web -> svc/shop/db", "service shop/db has several ports: add one, such as svc/shop/db:5432"},
		{"shop/web -> svc/shop/db:81", "to service shop/db has no port 81; it has tcp/5432 (sql) and tcp/8080 (admin)"},
		{"shop/web -> svc/shop/db:30432", "to service shop/db has no port 30432; it has tcp/5432 (sql) and tcp/8080 (admin)"},
		{"shop/web -> svc/shop/db:udp/5432", "service shop/db has no port udp/5432; it has tcp/5432 (sql) and tcp/8080 (admin)"},
		{"shop/web -> svc/shop/dc:80", "to service shop/dc: not found; did you mean shop/db?"},
		{"shop/web -> svc/shop/headless:80", "to service shop/headless has no address of its own: use its pods"},
		{"svc/shop/db:5432 -> shop/web:80", "from svc/shop/db:5432: a Service cannot be a source: use its pods"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			q, err := question.Parse(tc.text)
			require.NoError(t, err)
			_, err = probe.Of(inv, q, question.Where{})
			require.EqualError(t, err, tc.err)
		})
	}
}

func TestAServiceIsAskedInItsNetwork(t *testing.T) {
	blue := strings.Replace(answerstest.Shop, "{name: empty, namespace: shop}",
		"{name: empty, namespace: shop, annotations: {netloom.io/network: blue}}", 1)
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, blue)))
	require.Equal(t, probe.Refuse, ask(t, inv, "shop/web -> svc/shop/empty", question.Where{})[0].Verdict)
	require.Equal(t, probe.Refuse, ask(t, inv, "shop/web -> 10.96.0.11:80", question.Where{Network: "blue"})[0].Verdict)
	require.Equal(t, probe.Allow, ask(t, inv, "shop/web -> 10.96.0.11:80", question.Where{})[0].Verdict, "it is not known there")
}

func TestAnAddressIsWhereItsPodIs(t *testing.T) {
	local := strings.Replace(answerstest.Shop, "  type: NodePort\n", "  type: NodePort\n  internalTrafficPolicy: Local\n", 1)
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, local)))
	for _, from := range []string{"shop/web", "10.0.0.1"} {
		got := ask(t, inv, from+" -> svc/shop/db:sql", question.Where{})[0]
		require.Equal(t, probe.Allow, got.Verdict)
		require.Len(t, got.Flows[0].Service.Choices, 1)
		require.Equal(t, "shop/db-0", got.Flows[0].Service.Choices[0].Pod, "the one on its node")
	}
	got := ask(t, inv, "8.8.8.8 -> svc/shop/db:sql", question.Where{})[0]
	require.Equal(t, probe.Deny, got.Verdict)
	require.Equal(t, []string{
		"Service/shop/db uses only endpoints on one node: add one on the node where the connection enters, which is unknown",
	}, got.Flows[0].Change)
	got = ask(t, inv, "8.8.8.8 -> svc/shop/db:sql", question.Where{Node: "n2"})[0]
	require.Equal(t, "shop/db-1", got.Flows[0].Service.Choices[0].Pod)
}
