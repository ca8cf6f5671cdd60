package auth_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestAPathIsReviewedForItself asks for other paths as a user whose token and whose permission for one path are known.
func TestAPathIsReviewedForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		g := newGate(t, c)
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
		require.Equal(t, 403, g.ask("GET", "/debug/ready", "Bearer good").Code, "permission for one path is none for another")
		require.Equal(t, 403, g.ask("POST", "/metrics", "Bearer good").Code, "nor for another verb")

		c.change(func() { c.down = errors.New("no route to host") })
		require.Equal(t, 200, g.ask("GET", "/metrics", "Bearer good").Code)
		require.Equal(t, 500, g.ask("GET", "/debug/snapshot", "Bearer good").Code, "the user is known, and the permission is not")
	})
}
