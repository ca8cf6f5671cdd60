package object_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

func problem(name, message string) object.Problem {
	return object.Problem{Ref: object.Ref{Kind: "Pod", Name: name}, Message: message}
}

func TestChangedProblems(t *testing.T) {
	was := []object.Problem{problem("edited", "x"), problem("gone", "x"), problem("same", "x")}
	now := []object.Problem{problem("edited", "y"), problem("new", "x"), problem("same", "x"), problem("same", "x")}
	require.Equal(t, map[object.Ref]bool{
		{Kind: "Pod", Name: "gone"}: true, {Kind: "Pod", Name: "edited"}: true, {Kind: "Pod", Name: "new"}: true,
	}, object.ChangedProblems(was, now))
	require.Empty(t, object.ChangedProblems(now, slices.Clone(now)))
}

func TestProblemsAreTheSameListUntilOneChanges(t *testing.T) {
	var p object.Problems
	a := object.Ref{Kind: "Pod", Name: "a"}
	require.Empty(t, p.All())
	require.False(t, p.Set(a, nil))
	require.True(t, p.Set(a, []object.Problem{problem("a", "x")}))
	first := p.All()
	require.Len(t, first, 1)
	require.False(t, p.Set(a, []object.Problem{problem("a", "x")}), "it has these")
	require.True(t, object.SameProblems(first, p.All()))
	require.True(t, p.Set(a, []object.Problem{problem("a", "y")}))
	require.True(t, p.Set(a, []object.Problem{problem("a", "z")}), "twice before it is asked")
	require.Equal(t, []object.Problem{problem("a", "z")}, p.All())
	require.Equal(t, []object.Problem{problem("a", "x")}, first, "a list never changes")
	require.False(t, object.SameProblems(first, p.All()))
	require.True(t, p.Set(a, nil))
	require.Nil(t, p.All())
}

// TestProblemsAgreeWithASort sets problems at random and compares with what sorting all of them gives.
func TestProblemsAgreeWithASort(t *testing.T) {
	seeds.Each(t, "problems", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		var p object.Problems
		want, last := map[object.Ref][]object.Problem{}, []object.Problem(nil)
		for range 500 {
			for range random.IntN(4) {
				ref := object.Ref{Kind: "Pod", Name: fmt.Sprint(random.IntN(20))}
				var list []object.Problem
				for range random.IntN(3) {
					list = append(list, problem(ref.Name, fmt.Sprint(random.IntN(2))))
				}
				p.Set(ref, list)
				want[ref] = list
			}
			sorted := slices.SortedFunc(slices.Values(slices.Concat(slices.Collect(maps.Values(want))...)), object.Problem.Compare)
			all := p.All()
			require.Len(t, all, len(sorted))
			require.True(t, slices.Equal(sorted, all))
			replayed := map[object.Problem]bool{}
			for _, one := range last {
				replayed[one] = true
			}
			object.DiffProblems(last, all, func(one object.Problem, isNew bool) {
				require.Equal(t, !isNew, replayed[one])
				replayed[one] = isNew
			})
			for one, there := range replayed {
				require.Equal(t, there, slices.Contains(all, one))
			}
			other := slices.Clone(last)
			merged := slices.SortedFunc(slices.Values(slices.Concat(other, all)), object.Problem.Compare)
			require.True(t, slices.Equal(merged, object.MergeProblems(other, all)))
			last = all
		}
	})
}
