package figures_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/bench/figures"
)

func TestTable(t *testing.T) {
	require.Equal(t, `| pods | | measured | wanted | raw floor | what it means |
|---|---|---|---|---|---|
| 1000 | a flip | 6.5 ms | ≤ 6 ms, missed | 5.25 ms | too slow |
| 1000 | another | 6 ms | ≤ 6 ms |  |  |
| 10000 | rows | 0 | ≤ 0 |  | none |
|  | ACLs | 12345 |  |  |  |
|  | a log | not measured: it was compacted | ≤ 1 MB |  |  |
`, figures.Table([]figures.Figure{
		{Pods: 1000, Name: "a flip", Measured: 6.5, Unit: "ms", AtMost: new(6.0), Floor: 5.25, Meaning: "too slow"},
		{Pods: 1000, Name: "another", Measured: 6, Unit: "ms", AtMost: new(6.0)},
		{Pods: 10000, Name: "rows", AtMost: new(0.0), Meaning: "none"},
		{Name: "ACLs", Measured: 12345},
		{Name: "a log", Measured: 9, Unit: "MB", AtMost: new(1.0), Missing: "it was compacted"},
	}))
}

func TestValuesHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0.004: "0", 0.456: "0.46", 1.239: "1.24", 12.39: "12.4", 100: "100", 110.4: "110", 20: "20"} {
		require.Contains(t, figures.Table([]figures.Figure{{Measured: v}}), "|  |  | "+want+" |")
	}
}

func TestSizes(t *testing.T) {
	for list, want := range map[string][]int{"1000": {1000}, "1000,10000": {1000, 10000}, "7  8,9,": {7, 8, 9}} {
		got, err := figures.Sizes(list)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, list := range []string{"", ",", "0", "-1", "1k"} {
		_, err := figures.Sizes(list)
		require.Error(t, err, list)
	}
}

// TestLongestGap also counts the times before the first and after the last moment: a database that commits nothing has one gap.
func TestLongestGap(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, tc := range []struct {
		moments []int
		want    int
	}{{nil, 10}, {[]int{9, 1, 4, 2}, 5}, {[]int{7}, 7}, {[]int{2}, 8}, {[]int{-50, 3, 60}, 7}} {
		var moments []time.Time
		for _, m := range tc.moments {
			moments = append(moments, at(m))
		}
		require.Equal(t, time.Duration(tc.want)*time.Second, figures.LongestGap(at(0), at(10), moments), "%v", tc.moments)
	}
}
