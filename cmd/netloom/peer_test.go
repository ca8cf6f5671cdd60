package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

// TestConnectionsAgreeWithAPeer compares the connections of repositories with those that another program allows: see testdata/peer.
func TestConnectionsAgreeWithAPeer(t *testing.T) {
	type difference struct{ line, why string }
	// Lines of the peer alone. No line is of netloom alone.
	accepted := map[string][]difference{
		"monitoring": {{"monitoring/ds/node-agent -> 0.0.0.0/0: all", "its pods are on the networks of their nodes: policies do not decide, and netloom lists no connection of theirs"}},
	}
	files, err := filepath.Glob(filepath.Join("testdata", "peer", "*.txt"))
	require.NoError(t, err)
	require.Len(t, files, 9)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			want := strings.Split(strings.TrimSpace(string(content)), "\n")
			for _, d := range accepted[name] {
				require.Contains(t, want, d.line, d.why)
				want = slices.DeleteFunc(want, func(line string) bool { return line == d.line })
			}
			require.ElementsMatch(t, want, connectionLines(t, filepath.Join("..", "..", "test", "repositories", name)))
		})
	}
}

// connectionLines lists the connections of a directory, each as the peer's file has it: without those of a workload to itself, which it does not
// list, and without IPv6, which it does not know.
func connectionLines(t *testing.T, dir string) []string {
	t.Helper()
	got := netloom(t, "connections", "-f", dir, "-o", "json")
	require.Equal(t, exitDone, got.code, "netloom is certain: %s", got.errout)
	var answer struct {
		Groups []struct {
			ID      int
			Ends    []struct{ Name string }
			Outside []netip.Prefix
		}
		Connections []struct {
			From, To int
			Ports    string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &answer))
	names, outside := map[int][]string{}, map[int][]netip.Prefix{}
	for _, g := range answer.Groups {
		for _, e := range g.Ends {
			names[g.ID] = append(names[g.ID], e.Name)
		}
		outside[g.ID] = slices.DeleteFunc(g.Outside, func(p netip.Prefix) bool { return p.Addr().Is6() })
	}
	var out []string
	beyond := map[[3]string][]netip.Prefix{} // by what is around a range in its line
	for _, c := range answer.Connections {
		for _, from := range names[c.From] {
			for _, to := range names[c.To] {
				if from != to {
					out = append(out, from+" -> "+to+": "+c.Ports)
				}
			}
			around := [3]string{from + " -> ", "", ": " + c.Ports}
			beyond[around] = append(beyond[around], outside[c.To]...)
		}
		for _, to := range names[c.To] {
			around := [3]string{"", " -> " + to, ": " + c.Ports}
			beyond[around] = append(beyond[around], outside[c.From]...)
		}
	}
	for around, prefixes := range beyond {
		for _, p := range intent.MergePrefixes(prefixes) {
			out = append(out, around[0]+p.String()+around[1]+around[2])
		}
	}
	return out
}
