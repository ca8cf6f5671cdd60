//go:build e2e

package ovn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

func realServer(t testing.TB) string {
	t.Helper()
	process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Kill() })
	return process.Addr()
}

// TestChangesByOthersAreRepairedAtOnceOnRealServer tampers with a database of the ovsdb-server that is installed.
func TestChangesByOthersAreRepairedAtOnceOnRealServer(t *testing.T) { testTampering(t, realServer(t)) }

// TestOwnChangesCauseNoReadBackOnRealServer writes a thousand times to it.
func TestOwnChangesCauseNoReadBackOnRealServer(t *testing.T) { testFlips(t, realServer(t)) }
