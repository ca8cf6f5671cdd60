package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWebhookNamesMissingSettings(t *testing.T) {
	own := []string{"--tls-secret", "a/b", "--tls-service", "a/b"}
	for want, args := range map[string][]string{
		"netloom: webhook-listen (default): needs either webhook-tls-cert and webhook-tls-key, or webhook-tls-secret and webhook-tls-service\n": nil,
		"netloom: webhook-tls-service (flag --tls-service): \"netloom\": expected NAMESPACE/NAME\n":                                             {"--tls-secret", "a/b", "--tls-service", "netloom"},
		"netloom: webhook-tls-cert (flag --tls-cert): needs webhook-tls-key\n":                                                                  {"--tls-cert", "x"},
		"netloom: webhook-dependencies (flag --dependencies): \"no\": expected one of deny, warn, off\n":                                        append(own, "--dependencies", "no"),
		"netloom: webhook-network-policies (flag --network-policies): \"deny\": expected one of warn, off\n":                                    append(own, "--network-policies", "deny"),
		"netloom: log-level (flag --log-level): \"loud\": expected one of error, warning, info, debug, trace\n":                                 append(own, "--log-level", "loud"),
		"netloom: webhook-listen (flag --listen): \"\": expected [HOST]:PORT\n":                                                                 append(own, "--listen", ""),
	} {
		got := netloom(t, append([]string{"webhook"}, args...)...)
		require.Equal(t, exitFailed, got.code)
		require.Equal(t, want, got.errout)
	}
}

// TestRunTakesTheSettingsOfTheWebhook checks that both commands read the same file, with the same settings.
func TestRunTakesTheSettingsOfTheWebhook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "netloom.yaml")
	require.NoError(t, os.WriteFile(file, []byte("ovn-nb: [embedded]\nwebhook-tls-secret: a/b\nwebhook-exempt-group: [root, system:masters]\n"), 0o600))
	want := " \"-1\": expected a whole number, 0 or greater\nwebhook-tls-secret (file " + file + "): needs webhook-tls-service\n"
	got := netloom(t, "webhook", "--config", file, "--max-flows", "-1")
	require.Equal(t, "netloom: webhook-max-flows (flag --max-flows):"+want, got.errout)
	got = netloom(t, "run", "--config", file, "--webhook-listen", ":9443", "--webhook-max-flows", "-1", "--check-config")
	require.Equal(t, "netloom: webhook-max-flows (flag --webhook-max-flows):"+want, got.errout)

	got = netloom(t, "run", "--config", file, "--check-config")
	require.Equal(t, exitDone, got.code, "what answers nothing needs nothing")
	got = netloom(t, "run", "--config", file, "--manifests", ".", "--webhook-listen", ":9443", "--webhook-tls-service", "a/b", "--check-config")
	require.Equal(t, "netloom: webhook-listen (flag --webhook-listen): cannot be combined with manifests (flag --manifests): "+
		"reviews come from a Kubernetes API\n", got.errout)
}
