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
	"github.com/netloom/netloom/pkg/ovsdb/inmem"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// requireCause runs a daemon until /readyz and a line of the log name an address and why it cannot be used.
func requireCause(t *testing.T, opts daemon.Options, address, want string) {
	t.Helper()
	logger, hook := logtest.NewNullLogger()
	d, err := daemon.New(opts, logger)
	require.NoError(t, err)
	r := startMade(t, d)
	var body string
	r.await("the address and the cause in /readyz", func() bool {
		var code int
		code, body = r.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, address+": ") && strings.Contains(body, want)
	})
	r.await("the address and the cause in the log", func() bool {
		for _, e := range hook.AllEntries() {
			line, _ := e.String()
			if e.Level <= logrus.WarnLevel && strings.Contains(line, address) && strings.Contains(line, strings.ReplaceAll(want, `"`, `\"`)) {
				return true
			}
		}
		return false
	})
}

// TestReadinessNamesWhyADatabaseCannotBeUsed goes through what keeps a Northbound database from being used.
func TestReadinessNamesWhyADatabaseCannotBeUsed(t *testing.T) {
	follower, err := inmem.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, follower.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(follower.Close)
	follower.SetLeader(false)
	other, err := inmem.NewServer([]byte(`{"name": "Other", "version": "1.0.0", "tables": {"T": {"columns": {"c": {"type": "string"}}}}}`))
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
	for _, tc := range []struct {
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // most of it is pauses between attempts
			opts := newSilentPlace(t).options()
			opts.Target.OVN.Endpoints, opts.Target.OVN.TLS = []string{tc.endpoint}, tc.files
			requireCause(t, opts, tc.endpoint, tc.want)
		})
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
	for _, tc := range []struct {
		name, server string
		ca           *authority
		want         string
	}{
		{"refused", closed.URL, ca, "connection refused"},
		{"a host name that does not exist", "https://api.invalid:6443", ca, "look up api.invalid: "},
		{"a wrong CA", refusing(http.StatusOK, ""), stranger, "certificate signed by unknown authority"},
		{"a token that is not accepted", refusing(http.StatusUnauthorized, "Unauthorized"), ca, "Unauthorized"},
		{"a right that is missing", refusing(http.StatusForbidden, "Forbidden"), ca, "Forbidden"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // most of it is pauses between attempts
			opts := newSilentPlace(t).options()
			opts.Manifests, opts.Kubeconfig = "", filepath.Join(t.TempDir(), "kubeconfig")
			opts.Target.OVN.Endpoints = []string{ovn.Embedded}
			require.NoError(t, os.WriteFile(opts.Kubeconfig, []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}],
clusters: [{name: c, cluster: {server: %q%s}}]}`, tc.server, authorityOf(tc.server, tc.ca))), 0o600))
			requireCause(t, opts, strings.TrimPrefix(strings.TrimPrefix(tc.server, "https://"), "http://"), tc.want)
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
