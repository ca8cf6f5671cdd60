package connections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/seeds"
)

// shopText is a web server that may reach a database and 192.0.2.0/24, and nothing else.
const shopText = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: 10.96.0.10, ports: [{port: 5432}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
ports: [{port: 5432}]
endpoints: [{addresses: [10.0.0.2]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 5432}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Egress]
  egress: [{to: [{podSelector: {matchLabels: {app: db}}}]}, {to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 443}]}]
`

func stateOfText(t *testing.T, text string) world.State {
	t.Helper()
	return answerstest.StateOf(t, answerstest.ObjectsOf(t, text))
}

func TestLinesNameEnds(t *testing.T) {
	pods := func(namespace, app string, n, subnet int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s-%02d, namespace: %s, labels: {app: %[1]s}}\nstatus: {podIP: 10.1.%[4]d.%d}\n",
				app, i, namespace, subnet, i+1)
		}
		return b.String()
	}
	const closed = "\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: in, namespace: %s}\n" +
		"spec: {podSelector: {matchLabels: {app: %s}}, ingress: [{ports: [{port: 80}]}]}\n"
	const open = "outside 0.0.0.0/0"
	for _, tc := range []struct {
		name, text string
		want       []connections.Line
		named      []connections.Named
	}{
		{"one pod", pods("a", "p", 1, 1), []connections.Line{{From: "a/p-00", To: open, Ports: "all"}, {From: open, To: "a/p-00", Ports: "all"}}, nil},
		{
			"no policies", pods("a", "p", 20, 1) + pods("b", "p", 20, 2), []connections.Line{
				{From: "all workloads", To: "all workloads", Ports: "all"},
				{From: "all workloads", To: open, Ports: "all"},
				{From: open, To: "all workloads", Ports: "all"},
			}, nil,
		},
		{
			"a closed namespace", pods("a", "p", 20, 1) + pods("b", "p", 20, 2) + fmt.Sprintf(closed, "b", "p"), []connections.Line{
				{From: "all workloads", To: "ns/a", Ports: "all"},
				{From: "all workloads", To: "ns/b", Ports: "TCP 80"},
				{From: "all workloads", To: open, Ports: "all"},
				{From: open, To: "ns/a", Ports: "all"},
				{From: open, To: "ns/b", Ports: "TCP 80"},
			}, nil,
		},
		{
			"many of a namespace", pods("a", "p", 20, 1) + pods("a", "q", 2, 2) + fmt.Sprintf(closed, "a", "q"),
			[]connections.Line{
				{From: "all workloads", To: "group 1 (20 workloads)", Ports: "all"},
				{From: "all workloads", To: "a/q-00, a/q-01", Ports: "TCP 80"},
				{From: "all workloads", To: open, Ports: "all"},
				{From: open, To: "group 1 (20 workloads)", Ports: "all"},
				{From: open, To: "a/q-00, a/q-01", Ports: "TCP 80"},
			},
			[]connections.Named{{"group 1 (20 workloads)", namesOf("a/p-%02d", 20)}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report := connections.Of(world.New(stateOfText(t, tc.text)), connections.Filter{})
			lines, named := report.Lines()
			require.Equal(t, tc.want, lines)
			require.Equal(t, tc.named, named)
		})
	}
}

func namesOf(format string, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(names, ", ")
}

// TestLinesAreComplete reads the ends in lines, and compares with the connections of the report.
func TestLinesAreComplete(t *testing.T) {
	seeds.Each(t, "connections", func(t *testing.T, seed uint64) {
		_, state := stateOf(t, seed)
		requireLines(t, world.New(state), connections.Filter{})
	})
	for _, w := range []*world.World{worldOf(t, 200), worldOf(t, 400)} {
		requireLines(t, w, connections.Filter{})
		ends, err := w.Ends("ns/ns-00", "")
		require.NoError(t, err)
		requireLines(t, w, connections.Filter{From: ends})
		requireLines(t, w, connections.Filter{From: ends, To: ends, Policed: true})
	}
}

func requireLines(t *testing.T, w *world.World, f connections.Filter) {
	t.Helper()
	report := connections.Of(w, f)
	whole := connections.Of(w, connections.Filter{})
	lines, named := report.Lines()
	members := map[string][]string{} // by what lines say
	everyone := []string{}
	for i := range whole.Groups {
		for _, e := range whole.Groups[i].Ends {
			everyone = append(everyone, e.Name)
			members["ns/"+e.Namespace] = append(members["ns/"+e.Namespace], e.Name)
		}
	}
	slices.Sort(everyone)
	members["all workloads"] = everyone
	definitions := map[string]string{}
	for _, n := range named {
		definitions[n.Name] = n.Members
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		for _, from := range expand(l.From, members, definitions) {
			for _, to := range expand(l.To, members, definitions) {
				key := from + " -> " + to + ": " + l.Ports
				require.False(t, got[key] && from != outside && to != outside, "listed twice: %s", key)
				got[key] = true
			}
		}
	}
	for _, c := range report.Connections {
		ports := c.Ports
		if c.Family != "" {
			ports = c.Family + ": " + ports
		}
		for _, from := range endsOf(&report.Groups[c.From-1]) {
			for _, to := range endsOf(&report.Groups[c.To-1]) {
				want[from+" -> "+to+": "+ports] = true
			}
		}
	}
	require.Len(t, got, len(want))
	for key := range want {
		require.True(t, got[key], "no line has %s", key)
	}
}

// outside is what all addresses outside are called here.
const outside = "outside"

// endsOf names the ends of a group.
func endsOf(g *connections.Group) []string {
	var out []string
	for _, e := range g.Ends {
		out = append(out, e.Name)
	}
	if len(g.Outside) > 0 {
		out = append(out, outside)
	}
	return out
}

// expand lists the ends that a text names.
func expand(text string, members map[string][]string, definitions map[string]string) []string {
	if strings.HasPrefix(text, outside) {
		return []string{outside}
	}
	if rest, ok := strings.CutPrefix(text, "all workloads except "); ok {
		lacks := expand(rest, members, definitions)
		return slices.DeleteFunc(slices.Clone(members["all workloads"]), func(n string) bool { return slices.Contains(lacks, n) })
	}
	var out []string
	for part := range strings.SplitSeq(text, ", ") {
		switch {
		case members[part] != nil:
			out = append(out, members[part]...)
		case definitions[part] != "":
			out = append(out, expand(definitions[part], members, definitions)...)
		default:
			out = append(out, part)
		}
	}
	return out
}
