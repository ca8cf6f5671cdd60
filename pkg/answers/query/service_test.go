package query_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/query"
)

// shop is a web server that may reach one of the two pods behind a service, and services without endpoints.
const shop = `
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 172.18.0.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {addresses: [{type: InternalIP, address: 172.18.0.2}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {nodeName: n1}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
spec: {nodeName: n1}
status: {podIP: 10.0.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: db-1, namespace: shop, labels: {app: db, locked: "yes"}}
spec: {nodeName: n2}
status: {podIP: 10.0.0.3}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec:
  type: NodePort
  externalTrafficPolicy: Local
  clusterIP: 10.96.0.10
  ports: [{name: sql, port: 5432, targetPort: 15432, nodePort: 30432}, {name: admin, port: 8080, nodePort: 30080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{name: sql, port: 15432}]
endpoints:
- {addresses: [10.0.0.2], nodeName: n1}
- {addresses: [10.0.0.3], nodeName: n2}
---
apiVersion: v1
kind: Service
metadata: {name: empty, namespace: shop}
spec:
  clusterIP: 10.96.0.11
  ports: [{port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: shop}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: locked, namespace: shop}
spec: {podSelector: {matchLabels: {locked: "yes"}}}
`

func TestAServiceIsJudgedByItsEndpoints(t *testing.T) {
	inv := query.NewInventory(stateOf(t, objectsOf(t, shop)))
	for _, text := range []string{
		"shop/web -> svc/shop/db:5432", "shop/web -> svc/shop/db:sql", "shop/web -> svc/shop/db:tcp/5432",
		"shop/web -> service/shop/db:tcp/sql",
	} {
		got := ask(t, inv, text, query.Where{})[0]
		require.Equal(t, "shop/web -> svc/shop/db tcp/5432", got.Question)
		require.Equal(t, query.Mixed, got.Verdict)
		f := got.Flows[0]
		require.Equal(t, "10.96.0.10 tcp/5432", f.Destination)
		require.Nil(t, f.Egress)
		b := f.Service
		require.Equal(t, "Service/shop/db tcp/10.96.0.10:5432 cluster sent on",
			b.Service+" "+b.Frontend+" "+b.Kind+" "+b.Outcome)
		require.Len(t, b.Choices, 2)
		require.Equal(t, "10.0.0.2:15432 shop/db-0 n1", b.Choices[0].Address+" "+b.Choices[0].Pod+" "+b.Choices[0].Node)
		require.Equal(t, query.Allow, b.Choices[0].Verdict)
		require.Equal(t, query.Deny, b.Choices[1].Verdict)
		require.Equal(t, []string{"NetworkPolicy/shop/locked"}, b.Choices[1].Ingress.IsolatedBy)
		require.Equal(t, []string{
			"ingress of shop/db-1: add a rule from shop/web on tcp/15432 in NetworkPolicy/shop/locked or another policy that selects it",
		}, b.Choices[1].Change)
	}
	require.Equal(t, "svc/shop/db:sql", ask(t, inv, "web -> svc/db:sql", query.Where{Namespace: "shop"})[0].To[:15])
}

func TestAServiceMayLeadNowhere(t *testing.T) {
	inv := query.NewInventory(stateOf(t, objectsOf(t, shop)))
	for _, tc := range []struct {
		name, text string
		where      query.Where
		verdict    query.Verdict
		outcome    string
		change     string
	}{
		{"no endpoint", "shop/web -> svc/shop/empty", query.Where{}, query.Refuse, "refused", "Service/shop/empty has no endpoint: add a pod that is ready"},
		{"its address says the same", "shop/web -> 10.96.0.11:80", query.Where{}, query.Refuse, "refused", "Service/shop/empty has no endpoint: add a pod that is ready"},
		{"another port is no frontend", "shop/web -> 10.96.0.11:81", query.Where{}, query.Allow, "", ""},
		{"a node's own endpoint", "8.8.8.8 -> node/n1:tcp/30432", query.Where{}, query.Allow, "sent on", ""},
		{"a node's own endpoint that is locked", "8.8.8.8 -> 172.18.0.2:30432", query.Where{}, query.Deny, "sent on", ""},
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
	inv := query.NewInventory(stateOf(t, objectsOf(t, shop)))
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
			q, err := query.ParseQuestion(tc.text)
			require.NoError(t, err)
			_, err = inv.Probe(q, query.Where{})
			require.EqualError(t, err, tc.err)
		})
	}
}

func TestAServiceIsAskedInItsNetwork(t *testing.T) {
	blue := strings.Replace(shop, "{name: empty, namespace: shop}",
		"{name: empty, namespace: shop, annotations: {netloom.io/network: blue}}", 1)
	inv := query.NewInventory(stateOf(t, objectsOf(t, blue)))
	require.Equal(t, query.Refuse, ask(t, inv, "shop/web -> svc/shop/empty", query.Where{})[0].Verdict)
	require.Equal(t, query.Refuse, ask(t, inv, "shop/web -> 10.96.0.11:80", query.Where{Network: "blue"})[0].Verdict)
	require.Equal(t, query.Allow, ask(t, inv, "shop/web -> 10.96.0.11:80", query.Where{})[0].Verdict, "it is not known there")
}

func TestAnAddressIsWhereItsPodIs(t *testing.T) {
	local := strings.Replace(shop, "  type: NodePort\n", "  type: NodePort\n  internalTrafficPolicy: Local\n", 1)
	inv := query.NewInventory(stateOf(t, objectsOf(t, local)))
	for _, from := range []string{"shop/web", "10.0.0.1"} {
		got := ask(t, inv, from+" -> svc/shop/db:sql", query.Where{})[0]
		require.Equal(t, query.Allow, got.Verdict)
		require.Len(t, got.Flows[0].Service.Choices, 1)
		require.Equal(t, "shop/db-0", got.Flows[0].Service.Choices[0].Pod, "the one on its node")
	}
	got := ask(t, inv, "8.8.8.8 -> svc/shop/db:sql", query.Where{})[0]
	require.Equal(t, query.Deny, got.Verdict)
	require.Equal(t, []string{
		"Service/shop/db uses only endpoints on one node: add one on the node where the connection enters, which is unknown",
	}, got.Flows[0].Change)
	got = ask(t, inv, "8.8.8.8 -> svc/shop/db:sql", query.Where{Node: "n2"})[0]
	require.Equal(t, "shop/db-1", got.Flows[0].Service.Choices[0].Pod)
}
