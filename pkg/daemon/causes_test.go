package daemon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/inmem"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// certifiedBy is the address of a TLS server with a certificate of an authority that nobody knows.
func certifiedBy(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestReadinessNamesWhyADatabaseCannotBeUsed lists the address and the cause, in /readyz and in the log.
func TestReadinessNamesWhyADatabaseCannotBeUsed(t *testing.T) {
	follower, err := inmem.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, follower.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(follower.Close)
	follower.SetLeader(false)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := "ssl:" + certifiedBy(t)
	ca := daemonCA(t)
	for _, tc := range []struct {
		name, endpoint string
		files          ovsdb.TLSFiles
		want           string
	}{
		{"refused", "tcp:" + closed.Listener.Addr().String(), ovsdb.TLSFiles{}, "connection refused"},
		{"a name that nobody has", "tcp:db.invalid:6641", ovsdb.TLSFiles{}, "look up db.invalid: "},
		{"a follower", follower.Addr(), ovsdb.TLSFiles{}, "not the leader of its cluster"},
		{"a wrong CA", secure, ovsdb.TLSFiles{CA: ca}, "certificate signed by unknown authority"},
		{"no CA", secure, ovsdb.TLSFiles{CA: "missing.pem"}, "read CA: open missing.pem: no such file"},
		{"no certificate", secure, ovsdb.TLSFiles{CA: ca, Cert: "gone.pem", Key: "gone.key"}, "open gone.pem: no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := newSilentPlace(t).options()
			opts.Target.OVN.Endpoints, opts.Target.OVN.TLS = []string{tc.endpoint}, tc.files
			log, hook := logtest.NewNullLogger()
			d, err := daemon.New(opts, log)
			require.NoError(t, err)
			r := startMade(t, d)
			r.await("the cause", func() bool {
				code, body := r.get("/readyz")
				return code == http.StatusServiceUnavailable && strings.Contains(body, tc.endpoint+": ") && strings.Contains(body, tc.want)
			})
			r.await("a line of the log", func() bool {
				for _, e := range hook.AllEntries() {
					line, _ := e.String()
					if e.Level <= logrus.WarnLevel && strings.Contains(line, tc.endpoint) && strings.Contains(line, tc.want) {
						return true
					}
				}
				return false
			})
		})
	}
}

// daemonCA is a file with the certificate of an authority.
func daemonCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return file
}
