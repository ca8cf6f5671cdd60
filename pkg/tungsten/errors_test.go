package tungsten_test

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/tungsten"
)

// refusals are requests that a real configuration server refused, with its answers.
//
//go:embed testdata/real-server-errors.jsonl
var refusals string

// TestAnswersOfARealServer tells its refusals apart.
func TestAnswersOfARealServer(t *testing.T) {
	is := map[string]func(error) bool{
		"unavailable": tungsten.IsUnavailable, "fault": tungsten.IsFault, "not found": tungsten.IsNotFound, "exhausted": tungsten.IsExhausted,
	}
	want := map[string]string{
		"No connection to zookeeper.": "unavailable", "Too many pending updates": "fault", "does not exist": "not found",
		"Permission Denied": "", "Authentication required": "", "ResourceExhaustionError": "exhausted",
	}
	seen := 0
	for line := range strings.Lines(refusals) {
		var one struct {
			M, P, A string
			S       int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		for part, kind := range want {
			if !strings.Contains(one.A, part) {
				continue
			}
			seen++
			err := &tungsten.StatusError{Method: one.M, Path: one.P, Code: one.S, Message: one.A}
			for name, test := range is {
				require.Equal(t, name == kind, test(err), "%s: %s", name, one.A)
			}
		}
	}
	require.Equal(t, len(want), seen)
}
