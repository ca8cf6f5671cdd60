package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
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
	closed := strings.Replace(upstreamCluster, "192.0.2.1:6443", "127.0.0.1:1", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prod.yaml"), []byte(closed), 0o600))
	got = netloom(t, "gateway", "--check", "--connect", "--clusters", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "cluster prod.example: API server https://127.0.0.1:1: no connection to it is possible")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("kind: Secret\n---\nkind: Pod\n"), 0o600))
	got = netloom(t, "gateway", "--check", "--clusters", dir)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, `kind "Secret"`)
	require.Contains(t, got.errout, `kind "Pod"`)
}

func TestGatewayRejectsFlags(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"gateway-tls-cert (flag --tls-cert): needs gateway-tls-key":                                                                {"--tls-cert", "x"},
		"gateway-tls-key (flag --tls-key): needs gateway-tls-cert":                                                                 {"--tls-key", "x"},
		"--connect needs --check":                                                                                                  {"--clusters", dir, "--connect"},
		"--check needs --clusters or --from-kubeconfig":                                                                            {"--check"},
		"gateway-write-kubeconfig (flag --write-kubeconfig): needs gateway-from-kubeconfig":                                        {"--write-kubeconfig", "x"},
		"gateway-front-proxy-ca (flag --front-proxy-ca): cannot be combined with gateway-from-kubeconfig (flag --from-kubeconfig)": {"--from-kubeconfig", "x", "--front-proxy-ca", "y"},
		"gateway-shared-watches (flag --shared-watches): cannot be combined with gateway-from-kubeconfig (flag --from-kubeconfig)": {"--from-kubeconfig", "x", "--shared-watches"},
		"gateway-clusters (flag --clusters): cannot be combined with gateway-from-kubeconfig (flag --from-kubeconfig)":             {"--from-kubeconfig", "x", "--clusters", dir},
		"gateway-from-kubeconfig: ":          {"--from-kubeconfig", "/none"},
		"gateway-front-proxy-ca: open /none": {"--clusters", dir, "--front-proxy-ca", "/none"},
		"gateway-front-proxy-names (flag --front-proxy-names): needs gateway-front-proxy-ca":         {"--clusters", dir, "--front-proxy-names", "x"},
		"gateway-listen (flag --listen): \"nonsense\": expected [HOST]:PORT":                         {"--clusters", dir, "--listen", "nonsense"},
		"listen (flag --metrics-listen): \"nonsense\": expected [HOST]:PORT, or nothing":             {"--clusters", dir, "--metrics-listen", "nonsense"},
		"kubeconfig (flag --kubeconfig): cannot be combined with gateway-clusters (flag --clusters)": {"--clusters", dir, "--kubeconfig", "x", "--listen", "192.0.2.1:1"},
		"kube-context (flag --context): needs kubeconfig":                                            {"--context", "x"},
		"gateway-listen: listen tcp": {"--clusters", dir, "--listen", "192.0.2.1:1"},
	} {
		got := netloom(t, append([]string{"gateway"}, args...)...)
		require.Equal(t, exitFailed, got.code, want)
		require.Contains(t, got.errout, want)
	}
}

// TestGatewayReadsTheFileOfOtherCommands gives one file to commands with different settings.
func TestGatewayReadsTheFileOfOtherCommands(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "netloom.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prod.yaml"), []byte(upstreamCluster), 0o600))
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte("ovn-nb: [embedded]\ngateway-clusters: "+dir+"\n"+text), 0o600))
	}
	write("webhook-max-flows: 7\ngateway-token-audiences: [a, b]\ngateway-shutdown-grace: 1m\ngateway-shared-watches: true\n")
	got := netloom(t, "gateway", "--check", "--config", file)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, "prod.example: valid")
	t.Setenv("NETLOOM_GATEWAY_CLUSTERS", filepath.Join(dir, "none"))
	errout := redirect(t, &os.Stderr)
	require.Equal(t, exitFailed, run(t.Context(), []string{"gateway", "--check", "--config", file}), "the environment overrides the file")
	require.Contains(t, errout(), filepath.Join(dir, "none"))
	got = netloom(t, "run", "--check-config", "--config", file)
	require.Equal(t, exitDone, got.code, "what it does not use may be there: %s", got.errout)

	cfg := &config.Config{}
	load := func(env map[string]string, args ...string) error {
		cmd := newGateway()
		require.NoError(t, cmd.ParseFlags(append(args, "--config", file)))
		var err error
		cfg, err = config.LoadGateway(cmd.Flags(), func(name string) (string, bool) { v, ok := env[name]; return v, ok }, os.ReadFile, new(builtin.Settings).Groups()...)
		return err
	}
	require.NoError(t, load(map[string]string{"NETLOOM_GATEWAY_ACCESS_LOG": "false", "NETLOOM_GATEWAY_SHUTDOWN_GRACE": "2m"}, "--shutdown-grace=3m", "--metrics-listen="))
	require.Equal(t, config.Gateway{
		Clusters: dir, Listen: ":6443", TokenAudiences: []string{"a", "b"}, SharedWatches: true, ReviewInterval: 4 * time.Minute,
		ShutdownDelay: 5 * time.Second, ShutdownSpread: 15 * time.Second, ShutdownGrace: 3 * time.Minute,
	}, cfg.Gateway)
	require.Empty(t, cfg.Listen)

	own := filepath.Join(dir, "kubeconfig")
	write("gateway-from-kubeconfig: " + own + "\n")
	err := load(map[string]string{"NETLOOM_GATEWAY_CLUSTERS": ""})
	require.ErrorContains(t, err, "gateway-clusters (environment NETLOOM_GATEWAY_CLUSTERS): cannot be combined with gateway-from-kubeconfig (file "+file+")")
	require.NoError(t, os.WriteFile(file, []byte("gateway-from-kubeconfig: "+own+"\n"), 0o600))
	require.NoError(t, load(nil))
	require.Equal(t, config.Gateway{FromKubeconfig: own, Listen: "127.0.0.1:6443", AccessLog: true, ReviewInterval: 4 * time.Minute, ShutdownGrace: 5 * time.Second}, cfg.Gateway, "only this machine, and it stops at once")
	require.Empty(t, cfg.Listen)
	require.NoError(t, load(map[string]string{"NETLOOM_GATEWAY_LISTEN": ":1", "NETLOOM_LISTEN": ":2"}, "--shutdown-delay=1s"))
	require.Equal(t, [3]any{":1", ":2", time.Second}, [3]any{cfg.Gateway.Listen, cfg.Listen, cfg.Gateway.ShutdownDelay})

	write("gateway-shared-watch: true\ngateway-strict-names: perhaps\n")
	err = load(map[string]string{"NETLOOM_GATEWAY_LISTEN": "6443"})
	require.ErrorContains(t, err, `gateway-shared-watch (file `+file+`): unknown setting`)
	require.ErrorContains(t, err, `gateway-strict-names (file `+file+`): "perhaps": expected a bool: true or false`)
	require.ErrorContains(t, err, `gateway-listen (environment NETLOOM_GATEWAY_LISTEN): "6443": expected [HOST]:PORT`)
}

// TestGatewayTakesTheFlagsOfItsManifest reads the arguments and the environment in deploy/kustomize/components/gateway.
func TestGatewayTakesTheFlagsOfItsManifest(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kustomize/components/gateway/deployment.yaml")
	require.NoError(t, err)
	var d appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(text, &d))
	container := d.Spec.Template.Spec.Containers[0]
	require.Equal(t, []string{"gateway"}, container.Args, "flags would override the environment")
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
	}
	cmd := newGateway()
	cfg, err := config.LoadGateway(cmd.Flags(), func(name string) (string, bool) {
		value, ok := env[name]
		delete(env, name)
		return value, ok
	}, os.ReadFile, new(builtin.Settings).Groups()...)
	require.NoError(t, err)
	require.Empty(t, env, "not read")
	for i, address := range []string{cfg.Gateway.Listen, cfg.Listen} {
		require.Equal(t, address, ":"+strconv.Itoa(int(container.Ports[i].ContainerPort)))
	}
	require.Equal(t, container.VolumeMounts[0].MountPath, filepath.Dir(cfg.Gateway.TLSCert))
	require.Equal(t, container.VolumeMounts[0].MountPath, filepath.Dir(cfg.Gateway.TLSKey))
	stops := cfg.Gateway.ShutdownDelay + cfg.Gateway.ShutdownSpread + cfg.Gateway.ShutdownGrace
	require.Less(t, stops, time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds)*time.Second, "it is not killed while it stops")
	require.Greater(t, cfg.Gateway.ShutdownDelay, time.Duration(container.ReadinessProbe.PeriodSeconds)*time.Second, "it gets no new clients while it stops")
}
