//go:build e2e

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// TestAnEqualPolicyCausesNoRecompute adds a policy that is equal to one that exists, and deletes it. The row in which that is noted
// arrives in the southbound database: northd has handled the change, without computing the logical flows anew.
func TestAnEqualPolicyCausesNoRecompute(t *testing.T) {
	dir := gather(t, "testdata/packets") + "/packets"
	lab := startLab(t)
	lab.Install(network(t, load(t, dir)))
	text := one("app: web", "{podSelector: {matchLabels: {app: client}}}", "{port: 80}")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "web-policy.yaml"), []byte(text), 0o600))
	mustApply(t, dir, lab.NBUnix())
	lab.Sync()
	noted := func() bool {
		sets, err := lab.RunProgram(t.Context(), "ovn-sbctl", "-t", "30", "--bare", "--columns=name", "list", "Address_Set")
		require.NoError(t, err)
		return strings.Contains(sets, "nlnotes")
	}
	equal := filepath.Join(dir, "zz-policy.yaml")
	for _, step := range []struct {
		name string
		do   func() error
		want bool
	}{
		{"added", func() error {
			return os.WriteFile(equal, []byte(strings.ReplaceAll(text, "name: web}", "name: zz}")), 0o600)
		}, true},
		{"deleted", func() error { return os.Remove(equal) }, false},
	} {
		before := lab.FlowRecomputes()
		require.NoError(t, step.do())
		mustApply(t, dir, lab.NBUnix())
		await.True(t, func() bool { return noted() == step.want }, "northd has handled the note")
		require.Equal(t, before, lab.FlowRecomputes(), step.name)
	}
	require.Empty(t, lab.Complaints())
}
