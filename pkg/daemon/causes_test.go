package daemon_test

import (
	"fmt"
	"io"
	"log" //nolint:depguard // what an HTTP server logs of refused handshakes is dropped
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// hindered is a daemon that cannot use what it is for, and its log.
type hindered struct {
	*running
	log *logtest.Hook
}

// startHindered runs a daemon. Most of what it does is pauses between attempts: start all before one has to name its cause.
func startHindered(t *testing.T, opts daemon.Options) hindered {
	t.Helper()
	logger, hook := logtest.NewNullLogger()
	d, err := daemon.New(opts, logger)
	require.NoError(t, err)
	return hindered{startMade(t, d), hook}
}

// requireCause waits until /readyz and a line of the log name an address and why it cannot be used.
func (r hindered) requireCause(t *testing.T, address, want string) {
	t.Helper()
	var body string
	await.True(t, func() bool {
		var code int
		code, body = r.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, address+": ") && strings.Contains(body, want)
	}, "%s: %s in /readyz", address, want)
	await.True(t, func() bool {
		for _, e := range r.log.AllEntries() {
			line, _ := e.String()
			if e.Level <= logrus.WarnLevel && strings.Contains(line, address) && strings.Contains(line, strings.ReplaceAll(want, `"`, `\"`)) {
				return true
			}
		}
		return false
	}, "%s: %s in the log", address, want)
}

// TestReadinessNamesWhyADatabaseCannotBeUsed goes through what keeps a Northbound database from being used.
func TestReadinessNamesWhyADatabaseCannotBeUsed(t *testing.T) {
	follower, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, follower.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(follower.Close)
	follower.SetLeader(false)
	other, err := simulator.NewServer([]byte(`{"name": "Other", "version": "1.0.0", "tables": {"T": {"columns": {"c": {"type": "string"}}}}}`))
	require.NoError(t, err)
	require.NoError(t, other.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(other.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()

	ca, stranger, hour := newAuthority(t), newAuthority(t), time.Now().Add(time.Hour)
	good := ca.issue(t, "nb.example.com", hour)
	secure := "ssl:" + serveAs(t, good, nil, http.NotFoundHandler())
	expired := "ssl:" + serveAs(t, ca.issue(t, "nb.example.com", time.Now().Add(-time.Minute)), nil, http.NotFoundHandler())
	demanding := "ssl:" + serveAs(t, good, ca, http.NotFoundHandler())
	cases := []struct {
		name, endpoint string
		files          ovsdb.TLSFiles
		want           string
	}{
		{"refused", "tcp:" + closed.Listener.Addr().String(), ovsdb.TLSFiles{}, "connection refused"},
		{"a host name that does not exist", "tcp:db.invalid:6641", ovsdb.TLSFiles{}, "look up db.invalid: "},
		{"a follower", follower.Addr(), ovsdb.TLSFiles{}, "not the leader of its cluster"},
		{"no such database", other.Addr(), ovsdb.TLSFiles{}, "OVN_Northbound"},
		{"a wrong CA", secure, ovsdb.TLSFiles{CA: stranger.file}, "certificate signed by unknown authority"},
		{"no CA", secure, ovsdb.TLSFiles{CA: "missing.pem"}, "read CA: open missing.pem: no such file"},
		{"no certificate", secure, ovsdb.TLSFiles{CA: ca.file, Cert: "gone.pem", Key: "gone.key"}, "open gone.pem: no such file"},
		{"an expired certificate of the server", expired, ovsdb.TLSFiles{CA: ca.file}, "certificate has expired"},
		{"a certificate for another name", secure, ovsdb.TLSFiles{CA: ca.file, ServerName: "sb.example.com"}, "valid for nb.example.com, not sb.example.com"},
		{"a server that asks for a certificate", demanding, ovsdb.TLSFiles{CA: ca.file}, "certificate required"},
	}
	var daemons []hindered
	for _, tc := range cases {
		opts := newSilentPlace(t).options()
		opts.Target.OVN.Endpoints, opts.Target.OVN.TLS = []string{tc.endpoint}, tc.files
		daemons = append(daemons, startHindered(t, opts))
	}
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) { daemons[i].requireCause(t, tc.endpoint, tc.want) })
	}
}

// TestReadinessNamesWhyAnAPIServerCannotBeUsed goes through what keeps objects from being listed.
func TestReadinessNamesWhyAnAPIServerCannotBeUsed(t *testing.T) {
	ca, stranger, hour := newAuthority(t), newAuthority(t), time.Now().Add(time.Hour)
	refusing := func(code int, reason string) string {
		return "https://" + serveAs(t, ca.issue(t, "api", hour), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s of %s","reason":%q,"code":%d}`, reason, r.URL.Path, reason, code)
		}))
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	cases := []struct {
		name, server string
		ca           *authority
		want         string
	}{
		{"refused", closed.URL, ca, "connection refused"},
		{"a host name that does not exist", "https://api.invalid:6443", ca, "look up api.invalid: "},
		{"a wrong CA", refusing(http.StatusOK, ""), stranger, "certificate signed by unknown authority"},
		{"a token that is not accepted", refusing(http.StatusUnauthorized, "Unauthorized"), ca, "Unauthorized"},
		{"a right that is missing", refusing(http.StatusForbidden, "Forbidden"), ca, "Forbidden"},
	}
	var daemons []hindered
	for _, tc := range cases {
		opts := newSilentPlace(t).options()
		opts.Manifests, opts.Kubeconfig = "", filepath.Join(t.TempDir(), "kubeconfig")
		opts.Target.OVN.Endpoints = []string{ovn.Embedded}
		require.NoError(t, os.WriteFile(opts.Kubeconfig, []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}],
clusters: [{name: c, cluster: {server: %q%s}}]}`, tc.server, authorityOf(tc.server, tc.ca))), 0o600))
		daemons = append(daemons, startHindered(t, opts))
	}
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			daemons[i].requireCause(t, strings.TrimPrefix(strings.TrimPrefix(tc.server, "https://"), "http://"), tc.want)
		})
	}
}

// authorityOf is the part of a kubeconfig that names the authority, for servers that are asked over TLS.
func authorityOf(server string, ca *authority) string {
	if !strings.HasPrefix(server, "https://") {
		return ""
	}
	return fmt.Sprintf(", certificate-authority: %q", ca.file)
}
