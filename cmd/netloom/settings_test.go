package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHelpShowsWhatMatters counts the flags in the help of commands that accept every setting.
func TestHelpShowsWhatMatters(t *testing.T) {
	flags := func(args ...string) []string {
		got := netloom(t, args...)
		require.Equal(t, exitDone, got.code, got.errout)
		var out []string
		for line := range strings.Lines(got.out) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
				out = append(out, line)
			}
		}
		return out
	}
	for _, command := range []string{"plan", "drift", "apply", "verify", "explain row"} {
		words := strings.Fields(command)
		short, long := flags(append(words, "--help")...), flags(append(words, "--help-all")...)
		require.Less(t, len(short), 30, command)
		require.Greater(t, len(long), 80, command)
		text := strings.Join(short, "\n")
		require.Contains(t, text, "--ovn-nb ", command)
		require.NotContains(t, text, "--webhook", command)
		require.Contains(t, strings.Join(long, "\n"), "--webhook-tls-secret ", command)
	}
	require.Contains(t, strings.Join(flags("plan", "--help"), "\n"), "--context ")
}

func TestHiddenSettingsAreAccepted(t *testing.T) {
	got := netloom(t, "plan", "-f", exampleDir, "--without", "networkpolicy/shop/db", "--webhook-max-flows", "7")
	require.Equal(t, exitDiffers, got.code, got.errout)
}

func TestADaemonWatchesOneDirectory(t *testing.T) {
	dir := t.TempDir()
	got := netloom(t, "run", "-f", dir, "--ovn-nb", "embedded", "--print-config")
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^manifests: .* # flag --manifests$`, got.out)
	got = netloom(t, "run", "-f", dir, "-f", dir, "--ovn-nb", "embedded")
	require.Contains(t, got.errout, "expected only one directory")
	got = netloom(t, "run", "-f", "-", "--ovn-nb", "embedded")
	require.Contains(t, got.errout, "standard input cannot be watched")
}
