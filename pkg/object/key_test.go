package object

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubjectOfAKey(t *testing.T) {
	for short, want := range map[string]string{
		"web-0": "web-0", "deploy/web": "deploy/web", "deploy/web+1": "deploy/web", "deploy/web-0": "deploy/web-0",
		"sts/db-0": "sts/db", "sts/db-1": "sts/db", "sts/db-2-1": "sts/db-2", "ds/agent+1": "ds/agent",
	} {
		require.Equal(t, Key{"c", "shop", want}, Key{"c", "shop", short}.Subject(), short)
	}
}
