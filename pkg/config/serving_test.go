package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config"
)

func TestServingIsOpenUnlessSaidOtherwise(t *testing.T) {
	c, err := place{args: "--ovn-nb embedded"}.load(t)
	require.NoError(t, err)
	require.Equal(t, config.Serving{
		TLS: config.ServingClear, Auth: config.ServingAnybody, Hosts: []string{"*.svc", "*.svc.cluster.local"},
	}, c.Serving)
	require.Equal(t, "127.0.0.1:8082", c.DebugListen, "but what shows pods and policies")
}

func TestServing(t *testing.T) {
	const auth, tls = "listen-auth (flag --listen-auth): kubernetes ", "listen-tls (flag --listen-tls): "
	const inClear = "needs listen-tls self or files unless "
	for _, tc := range []struct{ name, args, want string }{
		{"a certificate of its own", "--listen-tls self", ""},
		{"files", "--listen-tls files --listen-cert a --listen-key b", ""},
		{"tokens over TLS", "--listen-tls self --listen-auth kubernetes --ui-listen :8081", ""},
		{"tokens that go nowhere", "--listen-auth kubernetes --listen 127.0.0.1:8080", ""},
		{"tokens in clear for debugging", "--listen-auth kubernetes --listen 127.0.0.1:1 --debug-listen :2", auth + inClear +
			"debug-listen (flag --debug-listen) is a loopback address: tokens must not be sent unencrypted"},
		{"host names", "--listen-hosts netloom.example,*.svc", ""},
		{"no host names", "--listen-hosts=", ""},
		{"an invalid host name", "--listen-hosts a/b", `listen-hosts (flag --listen-hosts): "a/b": expected names or *.SUFFIX, separated by commas, or nothing`},
		{"nor by their other names", "--listen-auth kubernetes --listen localhost:8080 --ui-listen [::1]:8081", ""},
		{"tokens for nothing", "--listen-auth kubernetes --listen=", ""},
		{"no such certificate", "--listen-tls on", tls + `"on": expected one of none, self, files`},
		{"an unknown value", "--listen-auth basic", `listen-auth (flag --listen-auth): "basic": expected one of none, kubernetes`},
		{"files without a key", "--listen-tls files --listen-cert a", tls + "files needs listen-cert and listen-key"},
		{"a certificate for nothing", "--listen-tls self --listen-cert a", "listen-cert (flag --listen-cert): needs listen-tls files"},
		{"a key for nothing", "--listen-key a", "listen-key (flag --listen-key): needs listen-tls files"},
		{"no API server to ask", "--listen-tls self --listen-auth kubernetes --manifests x", auth + "cannot be combined with manifests (flag --manifests): it requires a Kubernetes API"},
		{"tokens in clear", "--listen-auth kubernetes", auth + inClear + "listen (default) is a loopback address: tokens must not be sent unencrypted"},
		{
			"tokens in clear for the page", "--listen-auth kubernetes --listen 127.0.0.1:1 --ui-listen 0.0.0.0:2",
			auth + inClear + "ui-listen (flag --ui-listen) is a loopback address: tokens must not be sent unencrypted",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := place{args: "--ovn-nb embedded " + tc.args}.load(t)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
		})
	}
}
