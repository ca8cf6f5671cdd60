package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/policygen"
)

func expectations(t testing.TB, text string) *probe.Expectations {
	t.Helper()
	e, err := probe.ParseExpectations([]byte(text))
	require.NoError(t, err)
	return e
}

func TestExpectations(t *testing.T) {
	inv := world.New(answerstest.Examples(t))
	got := probe.Check(inv, expectations(t, `
apiVersion: netloom.io/v1alpha1
kind: Expectations
namespace: shop
expectations:
- name: the web tier reaches the API
  from: web-*
  to: api-0
  ports: tcp/api
  expect: allow
- from: [web-0, monitoring/prometheus-0]
  to: db-0
  ports: [5432, icmp]
  expect: deny
- name: one that is wrong
  from: [api-0, web-0]
  to: db-0
  ports: [5432]
  expect: deny
- name: one that cannot be judged
  from: web-9
  to: db-0
  ports: [5432]
  expect: deny
`))
	require.Equal(t, 2, got.Passed)
	require.Equal(t, 2, got.Failed)
	require.Len(t, got.Results, 4)
	require.Equal(t, probe.Result{
		Name: "the web tier reaches the API", Text: "web-* -> api-0 tcp/api allow", Expect: probe.Allow, Passed: true, Answers: 2,
	}, got.Results[0])
	require.Equal(t, "web-0, monitoring/prometheus-0 -> db-0 5432, icmp deny", got.Results[1].Name)
	require.Equal(t, 4, got.Results[1].Answers)
	require.True(t, got.Results[1].Passed)

	wrong := got.Results[2]
	require.False(t, wrong.Passed)
	require.Equal(t, 1, wrong.Wrong)
	require.Len(t, wrong.Failures, 1)
	require.Equal(t, "shop/api-0 -> shop/db-0 tcp/5432", wrong.Failures[0].Question)
	require.Equal(t, probe.Allow, wrong.Failures[0].Verdict)
	require.NotEmpty(t, wrong.Failures[0].Flows[0].Ingress.AllowedBy)

	require.Contains(t, got.Results[3].Error, "from pod shop/web-9: not found; did you mean shop/web-0")
	require.Equal(t, 2*(2+4+2), got.Connections, "each in two families")
}

func TestServicesAreExpected(t *testing.T) {
	inv := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, answerstest.Shop)))
	got := probe.Check(inv, expectations(t, `
expectations:
- {from: shop/web, to: "svc/shop/empty:80", expect: refuse}
- {from: shop/web, to: "svc/shop/db:sql", expect: allow}
- {from: 8.8.8.8, to: node/n2, ports: tcp/30432, expect: deny}
`))
	require.Equal(t, 2, got.Passed)
	require.Equal(t, probe.Mixed, got.Results[1].Failures[0].Verdict)
}

func TestFaultsOfExpectations(t *testing.T) {
	for _, tc := range []struct{ name, text, err string }{
		{"nothing", "", "expectations: expected at least one"},
		{
			"another kind", "apiVersion: v1\nkind: Pod\nexpectations: [{from: a/b, to: c/d, ports: 80, expect: allow}]",
			"v1 Pod: expected apiVersion: netloom.io/v1alpha1 and kind: Expectations, or neither",
		},
		{
			"all at once", "expectations: [{to: [''], ports: gre/1, expect: alow}, {from: a/b, to: c/d}]",
			`expectations[0].from: expected a pod, a pattern, a node, a Service or an address
expectations[0].to: expected a pod, a pattern, a node, a Service or an address
expectations[0].ports: port "gre/1": expected tcp/80, udp/53, sctp/9999, tcp/NAME or icmp
expectations[0].expect: "alow": expected allow, deny or refuse
expectations[1].expect: "": expected allow, deny or refuse`,
		},
		{"an unknown field", "expectations: [{form: a/b}]", `unknown field "expectations[0].form"`},
		{"a list where words are", "expectations: [{from: [[a]]}]", `[["a"]]: expected a string or a list of strings`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := probe.ParseExpectations([]byte(tc.text))
			require.ErrorContains(t, err, tc.err)
		})
	}
}

// crowd is the regular cluster of n pods and n/5 policies, and as many expectations about it as asked for.
func crowd(t testing.TB, pods, asked int) (world.State, *probe.Expectations) {
	t.Helper()
	state := answerstest.StateOf(t, policygen.Objects(policygen.Workload(pods)))
	var b strings.Builder
	b.WriteString("expectations:\n")
	for i := range asked {
		from, to := state.Objects.Pods[(i*7)%pods], state.Objects.Pods[(i*13+20)%pods]
		expect := []probe.Verdict{probe.Allow, probe.Deny}[i%2]
		fmt.Fprintf(&b, "- {name: e%d, from: %s/%s, to: %s/%s, ports: [tcp/80], expect: %s}\n",
			i, from.Namespace, from.Name, to.Namespace, to.Name, expect)
	}
	return state, expectations(t, b.String())
}

// TestTheWorkDoesNotGrowWithTheCluster counts the policies that are considered: those that select either end, however
// many there are.
func TestTheWorkDoesNotGrowWithTheCluster(t *testing.T) {
	const asked = 500
	for _, pods := range []int{200, 1000} {
		state, file := crowd(t, pods, asked)
		got := probe.Check(world.New(state), file)
		require.Equal(t, asked, got.Connections)
		require.LessOrEqual(t, got.Looked, 3*asked,
			"a policy of either end and the node's own, of %d", state.Snapshot.PolicyCount())
	}
}

func BenchmarkExpectations(b *testing.B) {
	state, file := crowd(b, 1000, 500)
	for b.Loop() {
		probe.Check(world.New(state), file)
	}
}

func TestExpectationsUnderTiers(t *testing.T) {
	got := probe.Check(world.New(answerstest.Guarded(t)), expectations(t, `
expectations:
- {from: shop/web, to: shop/db, ports: [22, 80], expect: deny}
- {from: shop/web, to: shop/db, ports: [5432], expect: allow}
- {from: shop/db, to: shop/web, ports: [82], expect: allow}
- {from: shop/db, to: shop/web, ports: [81], expect: allow}
`))
	require.Equal(t, 3, got.Passed)
	require.Equal(t, "baseline", got.Results[3].Failures[0].Flows[0].Ingress.Tier)
}
