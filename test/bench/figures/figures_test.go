package figures_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/bench/figures"
)

func TestTable(t *testing.T) {
	require.Equal(t, `| pods | | measured | wanted | raw floor | last published | ovn-kubernetes 8871cd9ce | kube-ovn 1533681d7 | what it means |
|---|---|---|---|---|---|---|---|---|
| 1000 | a flip: to the row | 6.5 ms | ≤ 6 ms, missed | 5.25 ms | 6.25 ms |  |  | too slow |
| 1000 | … beyond the event | 6 ms | ≤ 6 ms |  |  | 7 ms | 80 ms |  |
| 10000 | rows | 0 | ≤ 0 |  | 0 |  |  | none |
|  | ACLs | 12345 |  |  |  |  |  |  |
|  | a log | not measured: it was compacted | ≤ 1 MB |  |  |  |  |  |
`, figures.Table([]figures.Figure{
		{Pods: 1000, Name: "a flip: to the row", Measured: 6.5, Unit: "ms", AtMost: new(6.0), Floor: 5.25, Meaning: "too slow"},
		{Pods: 1000, Name: "… beyond the event", Measured: 6, Unit: "ms", AtMost: new(6.0)},
		{Pods: 10000, Name: "rows", AtMost: new(0.0), Meaning: "none"},
		{Name: "ACLs", Measured: 12345},
		{Name: "a log", Measured: 9, Unit: "MB", AtMost: new(1.0), Missing: "it was compacted"},
	}, []figures.Published{
		{Pods: 1000, Name: "a flip: to the row", Measured: 6.25},
		{Pods: 1000, Name: "a flip: beyond the event", Others: [2]string{"7 ms", "80 ms"}},
		{Pods: 300, Name: "a flip: to the row", Measured: 1},
		{Pods: 10000, Name: "rows"},
	}))
}

func TestWorse(t *testing.T) {
	last := []figures.Published{
		{Pods: 1000, Name: "a flip: to the row", Measured: 10, Floor: 5},
		{Pods: 1000, Name: "a flip: rows", Measured: 6},
		{Pods: 1000, Name: "a flip: recomputes"},
		{Pods: 1000, Name: "a flip: CPU", Measured: 3},
		{Pods: 1000, Name: "a flip: of others", Others: [2]string{"1 ms"}},
	}
	row := figures.Figure{Pods: 1000, Name: "a flip: to the row", Measured: 10, Unit: "ms", Floor: 5, Spread: 0.2}
	rows := figures.Figure{Pods: 1000, Name: "… rows", Measured: 6}
	for _, tc := range []struct {
		name   string
		change func(row, rows *figures.Figure)
		want   []string
	}{
		{"as published", func(_, _ *figures.Figure) {}, nil},
		{"better", func(row, rows *figures.Figure) { row.Measured, rows.Measured = 1, 1 }, nil},
		{"within the spread of its samples", func(row, _ *figures.Figure) { row.Measured = 11.9 }, nil},
		{"beyond", func(row, _ *figures.Figure) { row.Measured = 12.1 }, []string{
			"1000 pods, a flip: to the row: 12.1 ms, and at most 12 ms with the noise of this run (published 10 ms)",
		}},
		{"on a busier machine", func(row, _ *figures.Figure) { row.Measured, row.Floor = 23.9, 10 }, nil},
		{"worse on a busier machine", func(row, _ *figures.Figure) { row.Measured, row.Floor = 24.1, 10 }, []string{
			"1000 pods, a flip: to the row: 24.1 ms, and at most 24 ms with the noise of this run (published 10 ms)",
		}},
		{"as published on a faster machine", func(row, _ *figures.Figure) { row.Floor = 1 }, nil},
		{"one sample", func(row, _ *figures.Figure) { row.Spread, row.Measured = 0, 11.1 }, []string{
			"1000 pods, a flip: to the row: 11.1 ms, and at most 11 ms with the noise of this run (published 10 ms)",
		}},
		{"a count has no noise", func(_, rows *figures.Figure) { rows.Measured, rows.Spread, rows.Floor = 7, 9, 99 }, []string{
			"1000 pods, a flip: rows: 7, and at most 6 with the noise of this run (published 6)",
		}},
		{"without a floor on a busy machine", func(row, rows *figures.Figure) {
			row.Floor, rows.Name, rows.Unit, rows.Measured = 10, "… CPU", "ms", 6.5
		}, nil},
		{"worse without a floor on a busy machine", func(row, rows *figures.Figure) {
			row.Floor, rows.Name, rows.Unit, rows.Measured = 10, "… CPU", "ms", 6.7
		}, []string{"1000 pods, a flip: CPU: 6.7 ms, and at most 6.6 ms with the noise of this run (published 3 ms)"}},
		{"memory does not depend on how busy the machine is", func(row, rows *figures.Figure) {
			row.Floor, rows.Name, rows.Unit, rows.Measured = 10, "… CPU", "MiB", 3.4
		}, []string{"1000 pods, a flip: CPU: 3.4 MiB, and at most 3.3 MiB with the noise of this run (published 3 MiB)"}},
		{"not measured", func(row, _ *figures.Figure) { row.Measured, row.Missing = 99, "no time" }, nil},
		{"of a cluster of another size", func(row, _ *figures.Figure) { row.Measured, row.Pods = 99, 10000 }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			row, rows := row, rows
			tc.change(&row, &rows)
			require.Equal(t, tc.want, figures.Worse([]figures.Figure{
				row, rows, {Pods: 1000, Name: "… recomputes"}, {Pods: 1000, Name: "… of others", Measured: 99, Unit: "ms"},
			}, last))
		})
	}
	require.Len(t, figures.Worse([]figures.Figure{row, {Pods: 1000, Name: "… recomputes", Measured: 0.1}}, last), 1, "a published 0 is a value")
}

// TestPublishedFigures has each figure once, and none that says nothing.
func TestPublishedFigures(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range figures.Last() {
		require.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
		require.Positive(t, p.Pods)
	}
	for _, other := range figures.Others() {
		require.Regexp(t, `^[a-z-]+ [0-9a-f]{9}$`, other)
	}
}

func TestValuesHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0.004: "0", 0.456: "0.46", 1.239: "1.24", 12.39: "12.4", 100: "100", 110.4: "110", 20: "20"} {
		require.Contains(t, figures.Table([]figures.Figure{{Measured: v}}, nil), "|  |  | "+want+" |")
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
