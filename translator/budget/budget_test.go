package budget

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAccountEndsWithTheFirstUnitThatRunsOut(t *testing.T) {
	a := Limits{Prefixes: 10}.Open()
	require.True(t, a.Spend(Prefixes, 4))
	require.True(t, a.Spend(Prefixes, 6))
	require.Zero(t, a.Left(Prefixes))
	require.Equal(t, Default()[Rules], a.Left(Rules), "zero is the default")
	require.NoError(t, a.Err())
	require.False(t, a.Spend(Prefixes, 1))
	require.EqualError(t, a.Err(), "it needs more than 10 prefixes, the limit for one object")
	require.False(t, a.Spend(Rules, 1), "an object is over its budget as a whole")
	require.Zero(t, a.Left(Rules))
}

func TestTheZeroAccountHasNothing(t *testing.T) {
	require.False(t, new(Account).Spend(Backends, 1))
}

func TestEveryUnitHasANameAndALimit(t *testing.T) {
	for u := range units {
		require.NotContains(t, u.String(), "unit(")
		require.Positive(t, Default()[u], "%s", u)
	}
	require.Equal(t, "unit(200)", Unit(200).String())
}
