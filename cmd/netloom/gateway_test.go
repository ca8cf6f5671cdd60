package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

const upstreamCluster = `apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: prod.example}
spec:
  servers: [{endpoint: "https://192.0.2.1:6443"}]
  dispatchPolicies: [{rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}]
`

func TestGatewayChecksFiles(t *testing.T) {
	dir := t.TempDir()
	got := netloom(t, "gateway", "--check", "--clusters", dir)
	require.Equal(t, exitCannotTell, got.code, "nothing was checked")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prod.yaml"), []byte(upstreamCluster), 0o600))
	got = netloom(t, "gateway", "--check", "--clusters", dir)
	require.Equal(t, exitDone, got.code)
	require.Equal(t, "prod.example: valid, 1 API servers, 1 dispatch policies\n", got.out)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("kind: Secret\n---\nkind: Pod\n"), 0o600))
	got = netloom(t, "gateway", "--check", "--clusters", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, `kind "Secret"`)
	require.Contains(t, got.errout, `kind "Pod"`)
}

func TestGatewayRejectsFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--tls-cert and --tls-key must be given together": {"--tls-cert", "x"},
		"--check needs --clusters":                        {"--check"},
		"--front-proxy-ca":                                {"--clusters", t.TempDir(), "--front-proxy-ca", "/none"},
		"--listen":                                        {"--clusters", t.TempDir(), "--listen", "nonsense"},
	} {
		got := netloom(t, append([]string{"gateway"}, args...)...)
		require.Equal(t, exitFailed, got.code, want)
		require.Contains(t, got.errout, want)
	}
}

// TestGatewayTakesTheFlagsOfItsManifest parses the arguments in deploy/gateway.
func TestGatewayTakesTheFlagsOfItsManifest(t *testing.T) {
	text, err := os.ReadFile("../../deploy/gateway/gateway.yaml")
	require.NoError(t, err)
	found := false
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var d appsv1.Deployment
		require.NoError(t, yaml.Unmarshal([]byte(document), &d))
		if d.Kind != "Deployment" {
			continue
		}
		found = true
		args := d.Spec.Template.Spec.Containers[0].Args
		require.Equal(t, "gateway", args[0])
		cmd := newGateway()
		require.NoError(t, cmd.ParseFlags(args[1:]))
		require.Empty(t, cmd.Flags().Args())
		var stops time.Duration
		for _, name := range []string{"shutdown-delay", "shutdown-spread", "shutdown-grace"} {
			part, err := cmd.Flags().GetDuration(name)
			require.NoError(t, err)
			stops += part
		}
		require.Less(t, stops, time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds)*time.Second, "it is not killed while it stops")
	}
	require.True(t, found)
}
