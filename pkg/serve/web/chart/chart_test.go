package chart_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/web/chart"
	"github.com/netloom/netloom/test/seeds"
)

// end is a workload of a namespace with a number of pods.
func end(namespace, name string, pods int) connections.End {
	e := connections.End{Name: namespace + "/deploy/" + name, Namespace: namespace, Pods: pods}
	for i := range pods {
		e.Keys = append(e.Keys, object.Key{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i)})
	}
	return e
}

// separate is n namespaces of two workloads each, which reach each other on a port, and all addresses outside.
func separate(n int) *connections.Report {
	r := &connections.Report{}
	for i := range n {
		ns := fmt.Sprintf("team-%03d", i)
		r.Groups = append(r.Groups, connections.Group{ID: i + 1, Ends: []connections.End{end(ns, "api", 1), end(ns, "web", 3)}})
		r.Connections = append(r.Connections, connections.Connection{From: i + 1, To: i + 1, Ports: "TCP 80"}, connections.Connection{From: i + 1, To: n + 1, Ports: "all"})
	}
	r.Groups = append(r.Groups, connections.Group{ID: n + 1, Outside: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}})
	return r
}

func TestASmallMapShowsEachNamespace(t *testing.T) {
	c := chart.Of(separate(3), []string{"team-001"})
	var titles []string
	for _, n := range c.Nodes {
		titles = append(titles, n.ID)
	}
	require.Equal(t, []string{
		"outside 0.0.0.0/0", "namespace team-000", "namespace team-002", "workload team-001/deploy/api", "workload team-001/deploy/web",
	}, titles)
	require.Len(t, c.Links, 4+2+3, "each to outside, two within a namespace, and between workloads: a single pod has no peer")
	within := c.Links[slices.IndexFunc(c.Links, func(l chart.Link) bool { return l.From == 1 && l.To == 1 })]
	require.Equal(t, []int{3, 3}, []int{within.Pairs, within.Of}, "a pod is not its own peer, the pods of a workload are")
	require.True(t, within.Whole())
	require.NotEqual(t, within.Source, within.Target)
	n, ok := c.PodAt(object.Key{Namespace: "team-001", Name: "web-2"})
	require.True(t, ok)
	require.Equal(t, 4, n)
	n, ok = c.OutsideAt(netip.MustParseAddr("192.0.2.1"))
	require.True(t, ok)
	require.Zero(t, n)
	_, ok = c.OutsideAt(netip.MustParseAddr("2001:db8::1"))
	require.False(t, ok)
}

func TestNamespacesThatAreAlikeAreOneNode(t *testing.T) {
	r := separate(50)
	c := chart.Of(r, nil)
	require.Len(t, c.Nodes, 2)
	n := c.Nodes[1]
	require.Equal(t, chart.Several, n.Kind)
	require.Equal(t, []int{chart.MaxNames, 42, 100, 200}, []int{len(n.Names), n.More, n.Workloads, n.Pods})
	require.Equal(t, []chart.Link{
		{From: 1, To: 0, Ports: []string{"all"}, Pairs: 100, Of: 100},
		{From: 1, To: 1, Ports: []string{"TCP 80"}, Pairs: 150, Of: 150, Each: true},
	}, bare(c.Links), "each reaches itself, not the others")

	r.Connections = append(r.Connections, connections.Connection{From: 8, To: 9, Ports: "UDP 53"})
	c = chart.Of(r, nil)
	require.Len(t, c.Nodes, 4, "what differs stands for itself")

	for i := range r.Groups[:50] { // now none of them is told apart by anything
		r.Groups[i].ID = 1
	}
	open := &connections.Report{Groups: []connections.Group{{ID: 1}}, Connections: []connections.Connection{{From: 1, To: 1, Ports: "all"}}}
	for i := range 50 {
		open.Groups[0].Ends = append(open.Groups[0].Ends, r.Groups[i].Ends...)
	}
	c = chart.Of(open, nil)
	require.Len(t, c.Nodes, 1)
	require.Equal(t, []chart.Link{{Ports: []string{"all"}, Pairs: 100*99 + 50, Of: 100*99 + 50}}, bare(c.Links))
}

// bare is links without their examples.
func bare(links []chart.Link) []chart.Link {
	out := slices.Clone(links)
	for i := range out {
		out[i].Source, out[i].Target = chart.Spot{}, chart.Spot{}
	}
	return out
}

// random is groups of workloads in some namespaces, with some connections.
func random(rng *rand.Rand, namespaces, groups int) *connections.Report {
	r := &connections.Report{}
	for i := range groups {
		g := connections.Group{ID: i + 1}
		for k := range 1 + rng.IntN(3) {
			g.Ends = append(g.Ends, end(fmt.Sprintf("ns-%04d", rng.IntN(namespaces)), fmt.Sprintf("w%d-%d", i, k), 1+rng.IntN(2)))
		}
		r.Groups = append(r.Groups, g)
	}
	for i := range 200 {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 32)
		r.Groups = append(r.Groups, connections.Group{ID: groups + 1 + i, Outside: []netip.Prefix{prefix}})
	}
	for from := 1; from <= len(r.Groups); from++ {
		for to := 1; to <= len(r.Groups); to++ {
			if rng.IntN(10) == 0 && min(from, to) <= groups {
				r.Connections = append(r.Connections, connections.Connection{From: from, To: to, Ports: []string{"all", "TCP 80", "UDP 53", "TCP 443", "SCTP 9"}[rng.IntN(5)]})
			}
		}
	}
	return r
}

// TestNothingIsLeftOut finds each connection of a report in its chart, and nothing else, and each pod in one node.
func TestNothingIsLeftOut(t *testing.T) {
	seeds.Each(t, "chart", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := random(rng, 1+rng.IntN(400), 1+rng.IntN(300))
		c := chart.Of(r, []string{"ns-0000", "ns-0001"})
		require.Equal(t, c, chart.Of(r, []string{"ns-0001", "ns-0000"}), "the same report, the same chart")
		workloads := 0
		for _, n := range c.Nodes {
			workloads += n.Workloads
			require.LessOrEqual(t, len(n.Names), chart.MaxNames)
		}
		nodes := make([]map[int]int, len(r.Groups)+1)
		for _, g := range r.Groups {
			nodes[g.ID] = map[int]int{}
			for _, e := range g.Ends {
				workloads--
				n, ok := c.PodAt(e.Keys[0])
				require.True(t, ok)
				nodes[g.ID][n]++
			}
			for _, p := range g.Outside {
				n, ok := c.OutsideAt(p.Addr())
				require.True(t, ok)
				nodes[g.ID][n]++
			}
		}
		require.Zero(t, workloads, "each workload is in one node")
		linked, pairs, found := map[[2]int]bool{}, 0, 0
		for _, l := range c.Links {
			linked[[2]int{l.From, l.To}] = true
			require.LessOrEqual(t, l.Pairs, l.Of)
			found += l.Pairs
		}
		for _, x := range r.Connections {
			from, to := r.Groups[x.From-1], r.Groups[x.To-1]
			between := max(1, len(from.Ends)) * max(1, len(to.Ends))
			if x.From == x.To {
				between -= len(from.Ends)
				for _, e := range from.Ends {
					between += len(e.Keys) - 1 // with one or two pods
				}
			}
			if pairs += between; c.MoreLinks > 0 {
				continue
			}
			for a := range nodes[x.From] {
				for b := range nodes[x.To] {
					require.True(t, linked[[2]int{a, b}] || x.From == x.To && len(from.Ends) < 3 && a == b, "%v", x)
				}
			}
		}
		if c.MoreLinks == 0 {
			require.Equal(t, pairs, found)
		}
		requireBounded(t, c, 2)
	})
}

func requireBounded(t *testing.T, c *chart.Chart, opened int) {
	t.Helper()
	require.LessOrEqual(t, len(c.Nodes), chart.MaxOutside+chart.MaxSpaces+opened*chart.MaxWithin)
	require.LessOrEqual(t, len(c.Links), chart.MaxLinks)
}

// TestALargeReportMakesASmallChart draws more namespaces and workloads than fit.
func TestALargeReportMakesASmallChart(t *testing.T) {
	r := random(rand.New(rand.NewPCG(1, 2)), 3000, 1500)
	c := chart.Of(r, []string{"ns-0000"})
	requireBounded(t, c, 1)
	require.Positive(t, c.MoreLinks)
	last := slices.IndexFunc(c.Nodes, func(n chart.Node) bool { return n.Kind == chart.Rest && n.Namespace == "" })
	require.Positive(t, last)
	require.Greater(t, c.Nodes[last].More, 500)

	big := &connections.Report{Groups: []connections.Group{}}
	for i := range 300 {
		big.Groups = append(big.Groups, connections.Group{ID: i + 1, Ends: []connections.End{end("one", fmt.Sprintf("w%03d", i), 1)}})
		big.Connections = append(big.Connections, connections.Connection{From: i + 1, To: (i+1)%300 + 1, Ports: "TCP 80"})
	}
	c = chart.Of(big, []string{"one"})
	require.Len(t, c.Nodes, chart.MaxWithin)
	require.Equal(t, 300-chart.MaxWithin+1, len(c.Nodes[len(c.Nodes)-1].Names)+c.Nodes[len(c.Nodes)-1].More)
}
