package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWebhookSaysWhatItLacks(t *testing.T) {
	for want, args := range map[string][]string{
		"netloom: expected either --tls-cert and --tls-key, or --tls-secret and --tls-service\n": nil,
		"netloom: --tls-service: \"netloom\": expected NAMESPACE/NAME\n":                         {"--tls-secret", "a/b", "--tls-service", "netloom"},
		"netloom: --dependencies: \"no\": expected deny, warn or off\n":                          {"--dependencies", "no", "--tls-secret", "a/b", "--tls-service", "a/b"},
		"netloom: --network-policies: \"deny\": expected warn or off\n":                          {"--network-policies", "deny", "--tls-secret", "a/b", "--tls-service", "a/b"},
		"netloom: --log-level: not a valid logrus Level: \"loud\"\n":                             {"--log-level", "loud", "--tls-secret", "a/b", "--tls-service", "a/b"},
	} {
		got := netloom(t, append([]string{"webhook"}, args...)...)
		require.Equal(t, exitProblems, got.code)
		require.Equal(t, want, got.errout)
	}
}
