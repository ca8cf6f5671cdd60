package web_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// clusterOf is a source with the state of a made-up cluster.
func clusterOf(t testing.TB, c *oracle.Cluster) *source {
	t.Helper()
	return &source{state: web.State{State: stateOf(t, policygen.Objects(c)), Number: 1, At: moment}}
}

func (s *server) matrix(t testing.TB, query string) (m web.Matrix, bytes int) {
	t.Helper()
	w := s.get(t, "/api/v1/matrix"+query)
	bytes = w.Body.Len()
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &m), w.Body)
	return m, bytes
}

// TestTenThousandPodsFitAnAnswer checks that the matrix has classes, not pods, and few bytes.
func TestTenThousandPodsFitAnAnswer(t *testing.T) {
	s := serve(clusterOf(t, policygen.Workload(10_000)))
	m, bytes := s.matrix(t, "")
	require.Len(t, m.Rows, policygen.WorkloadNamespaces+1, "the namespaces, and outside")
	require.Equal(t, 500, m.Rows[0].Pods)
	require.Equal(t, 300, m.Rows[0].Classes)
	require.Less(t, bytes, 16<<10)

	m, bytes = s.matrix(t, "?from=ns-00&to=ns-01&port=80")
	require.Len(t, m.Rows, 100)
	require.Equal(t, 200, m.MoreRows)
	require.Less(t, bytes, 128<<10)
	require.NotEmpty(t, m.Rows[0].Labels)
	last, _ := s.matrix(t, "?from=ns-00&to=ns-01&rowsAt=250&columnsAt=299")
	require.Len(t, last.Rows, 50)
	require.Len(t, last.Columns, 1)
	require.Zero(t, last.MoreRows)

	m, _ = s.matrix(t, "?from=ns-00&to=ns-00&fromLabels=app%3Da1&toLabels=app%3Da2")
	require.Len(t, m.Rows, 3, "one class for each tier")
}

// TestCellsAreWhatEvaluateSays compares cells with the verdicts of all their pods.
func TestCellsAreWhatEvaluateSays(t *testing.T) {
	seen := map[web.CellVerdict]int{}
	seeds.Each(t, "cells", func(t *testing.T, seed uint64) {
		source := clusterOf(t, policygen.Generate(seed, policygen.Size{}))
		rng := policygen.NewRand(seed)
		s := serve(source)
		for _, port := range []string{"tcp/80", "udp/53", "icmp", ""} {
			m, _ := s.matrix(t, "?port="+port)
			for r, row := range m.Rows {
				for c, column := range m.Columns {
					state := m.States[m.Cells[r][c]]
					seen[state.Verdict]++
					if row.Kind == web.OfNamespace && column.Kind == web.OfNamespace {
						requireCell(t, source, row.ID, column.ID, port, state.Verdict, rng)
					}
				}
			}
		}
	})
	if seeds.All() {
		for _, v := range []web.CellVerdict{web.CellAllowed, web.CellPartly, web.CellDenied, web.CellNone} {
			require.Positive(t, seen[v], "some cell is %s", v)
		}
	}
}

// requireCell asks the snapshot for every pair of pods of two namespaces, at the port or at a few of them.
func requireCell(t *testing.T, s *source, from, to, port string, got web.CellVerdict, rng *rand.Rand) {
	t.Helper()
	flows := []intent.Flow{{Protocol: intent.TCP, Port: 80}}
	switch port {
	case "udp/53":
		flows[0] = intent.Flow{Protocol: intent.UDP, Port: 53}
	case "icmp":
		flows[0] = intent.Flow{Protocol: intent.ICMP}
	case "":
		for range 4 {
			flows = append(flows, intent.Flow{Protocol: intent.UDP, Port: uint16(rng.IntN(65536))})
		}
	}
	allowed, denied := 0, 0
	for e := range s.state.View.Endpoints() {
		for o := range s.state.View.Endpoints() {
			if e.Key.Namespace != from || o.Key.Namespace != to || e.Key == o.Key {
				continue
			}
			for _, src := range e.Addrs {
				for _, dst := range o.Addrs {
					if src.Is4() != dst.Is4() || src == dst {
						continue
					}
					for _, f := range flows {
						f.Src, f.Dst = intent.Party{Key: e.Key, Addr: src}, intent.Party{Key: o.Key, Addr: dst}
						if f.Protocol == intent.ICMP && dst.Is6() {
							f.Protocol = intent.ICMPv6
						}
						if s.state.Snapshot.Evaluate(f).Allowed {
							allowed++
						} else {
							denied++
						}
					}
				}
			}
		}
	}
	text := fmt.Sprintf("%s -> %s %s: %d allowed, %d denied", from, to, port, allowed, denied)
	switch got {
	case web.CellAllowed:
		require.Zero(t, denied, text)
		require.Positive(t, allowed, text)
	case web.CellDenied:
		require.Zero(t, allowed, text)
		require.Positive(t, denied, text)
	case web.CellPartly:
		if port != "" {
			require.Positive(t, allowed, text)
			require.Positive(t, denied, text)
		}
	case web.CellItself, web.CellNone:
		require.Zero(t, allowed+denied, text)
	case web.CellUnknown:
		require.Fail(t, "everything is evaluated", text)
	}
}

// BenchmarkMatrix answers for 10,000 pods and 2,000 policies, from a state that was not asked about yet.
func BenchmarkMatrix(b *testing.B) {
	source := clusterOf(b, policygen.Workload(10_000))
	s := serve(source)
	for b.Loop() {
		source.state.Number++
		s.matrix(b, "")
	}
}
