package httpcall

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLogin checks that callers whose session has ended log in once, and that a failed login changes nothing.
func TestLogin(t *testing.T) {
	l := NewLogin[string]()
	old := l.Current()
	require.Zero(t, old)

	logins := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := l.Renew(t.Context(), old, func(context.Context) (string, error) {
				logins++ // one at a time, which the race detector watches
				return "first", nil
			})
			if err != nil || got.Value != "first" || got.Number != 1 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, logins)

	_, err := l.Renew(t.Context(), l.Current(), func(context.Context) (string, error) { return "second", errors.New("refused") })
	require.EqualError(t, err, "refused")
	require.Equal(t, Result[string]{"first", 1}, l.Current())
}
