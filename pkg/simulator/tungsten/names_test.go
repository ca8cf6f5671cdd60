package tungsten_test

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordedNames are requests for objects by name, and what a real server answered, in words or as it was.
//
//go:embed testdata/fq_names-ignored.jsonl
var recordedNames string

// TestNamesInABody checks that names select objects in an address, and not in a body, where the server ignores them.
func TestNamesInABody(t *testing.T) {
	c := newCaller(t)
	require.NoError(t, c.s.AddCluster("k8s"))
	_, all := c.do(http.MethodPost, "/list-bulk-collection", `{"type":"virtual-network","exclude_hrefs":true}`)
	require.Contains(t, all, "k8s-default-pod-network")
	for line := range strings.Lines(recordedNames) {
		var one struct {
			M    string          `json:"m"`
			P    string          `json:"p"`
			B    json.RawMessage `json:"b"`
			Real json.RawMessage `json:"real"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		status, got := c.do(one.M, one.P, string(one.B))
		require.Equal(t, http.StatusOK, status)
		want := string(one.Real)
		if strings.Contains(want, "lists ALL virtual networks") {
			want = all
		}
		require.JSONEq(t, want, got, "%s %s", one.M, one.P)
	}
}
