package certs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/webhook/certs"
)

func TestSelfMakesAnotherBeforeTheFirstEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := certs.NewSelf("netloom", "localhost")
		first, err := s.Certificate()
		require.NoError(t, err)
		require.Equal(t, []string{"netloom", "localhost"}, first.Leaf.DNSNames)
		time.Sleep(59 * 24 * time.Hour)
		again, err := s.Certificate()
		require.NoError(t, err)
		require.Same(t, first, again)
		time.Sleep(24*time.Hour + time.Second)
		second, err := s.Certificate()
		require.NoError(t, err)
		require.NotSame(t, first, second)
		require.True(t, time.Now().Before(first.Leaf.NotAfter), "the first was good until then")
		require.True(t, second.Leaf.NotAfter.After(first.Leaf.NotAfter))
	})
}
