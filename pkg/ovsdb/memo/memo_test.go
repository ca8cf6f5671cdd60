package memo_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/memo"
)

func TestEqualTextsAreParsedOnce(t *testing.T) {
	var m memo.Memo[int]
	calls := 0
	parse := func(text []byte) (int, error) {
		calls++
		return strconv.Atoi(string(text))
	}
	for range 3 {
		v, err := m.Get([]byte("7"), parse)
		require.NoError(t, err)
		require.Equal(t, 7, v)
	}
	require.Equal(t, 1, calls)

	_, err := m.Get([]byte("x"), parse)
	require.ErrorIs(t, err, strconv.ErrSyntax)
	_, err = m.Get([]byte("x"), func([]byte) (int, error) { return 0, errors.New("again") })
	require.EqualError(t, err, "again")

	calls = 0
	for i := range 100 {
		v, err := m.Get([]byte(strconv.Itoa(i)), parse)
		require.NoError(t, err)
		require.Equal(t, i, v)
	}
	require.GreaterOrEqual(t, calls, 99)
}
