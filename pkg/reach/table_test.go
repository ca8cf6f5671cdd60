package reach_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/reach"
	"github.com/netloom/netloom/test/policygen"
)

func TestTablesAgreeWithTrafficOfPairs(t *testing.T) {
	for seed := range uint64(25) {
		c := policygen.Generate(seed, policygen.Size{})
		s := translate(t, c)
		classes := reach.Classify(placesOf(c, s), s)
		from, to := classes, classes[len(classes)/3:]
		table := reach.NewTable(0, from, to)
		var column []int
		for j := range to {
			column = table.Column(j, column)
			require.Len(t, column, len(from))
			for i, kind := range column {
				if from[i].Family != to[j].Family {
					require.Equal(t, reach.NoTraffic, kind)
					continue
				}
				want := from[i].Traffic(0, to[j])
				require.True(t, want.Equal(table.Kind(kind)), "seed %d: %s -> %s: %s, not %s", seed,
					from[i].Places[0], to[j].Places[0], table.Kind(kind), want)
			}
		}
	}
}

// BenchmarkTable works out what passes between all classes of 10,000 pods and 2,000 policies.
func BenchmarkTable(b *testing.B) {
	c := policygen.Workload(10_000)
	s := translate(b, c)
	classes := reach.Classify(placesOf(c, s), s)
	for b.Loop() {
		table := reach.NewTable(0, classes, classes)
		var column []int
		for j := range classes {
			column = table.Column(j, column)
		}
	}
	b.ReportMetric(float64(len(classes)), "classes")
}
