package ovsdb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// authority signs certificates for one test.
type authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	issued int64 // certificates, its own included; the last serial number
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "switchca"}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert, key, 1}
}

// issue writes ca.pem, cert.pem and key.pem into dir. The certificate carries no host name, like those of ovs-pki.
func (a *authority) issue(t testing.TB, dir string) ovsdb.TLSFiles {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a.issued++
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(a.issued), Subject: pkix.Name{CommonName: "someone"},
		NotAfter: time.Now().Add(time.Hour),
	}, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	files := ovsdb.TLSFiles{
		CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
	}
	for name, block := range map[string]*pem.Block{
		files.CA:   {Type: "CERTIFICATE", Bytes: a.cert.Raw},
		files.Cert: {Type: "CERTIFICATE", Bytes: der},
		files.Key:  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		require.NoError(t, os.WriteFile(name+".new", pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Rename(name+".new", name))
	}
	return files
}

// serveTLS starts a fake server for clients with a certificate of the same authority.
func serveTLS(t *testing.T, ca *authority) (endpoint string, seen chan *big.Int) {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	files := ca.issue(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	seen = make(chan *big.Int, 100)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
		VerifyConnection: func(state tls.ConnectionState) error {
			seen <- state.PeerCertificates[0].SerialNumber
			return nil
		},
	})
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			server.Serve(nc)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		server.Close()
		<-ended
	})
	return "ssl:" + listener.Addr().(*net.TCPAddr).String(), seen
}

func TestTLSFilesAreReadAgainWhenTheyChange(t *testing.T) {
	ca := newAuthority(t)
	endpoint, seen := serveTLS(t, ca)
	dir := t.TempDir()
	client := connect(t, ovsdb.Options{
		Endpoints: []string{endpoint}, TLS: ca.issue(t, dir), LeaderOnly: true, ProbeInterval: 20 * time.Millisecond,
	})
	first := <-seen
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), []byte("half"), 0o600))
	suiteSchema(t, client)
	ca.issue(t, dir)
	until(t, client, "a connection with the new certificate", func() bool { return client.Connected() && client.Epoch() >= 2 })
	require.NotEqual(t, first, <-seen)
	require.Empty(t, seen, "the half-written key was not used")
}

// refusal waits for a client to log that it cannot use a server, and returns why.
type refusal chan error

// Levels returns the levels of interest.
func (r refusal) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

// Fire passes on the error of a log entry.
func (r refusal) Fire(entry *logrus.Entry) error {
	if err, ok := entry.Data[logrus.ErrorKey].(error); ok {
		r <- err
	}
	return nil
}

func TestTLSServerIsRefused(t *testing.T) {
	ca := newAuthority(t)
	endpoint, _ := serveTLS(t, ca)
	named := ca.issue(t, t.TempDir())
	named.ServerName = "ovn.example"
	missing := ca.issue(t, t.TempDir())
	missing.CA = "missing.pem"
	tests := []struct {
		name  string
		files ovsdb.TLSFiles
		want  string
	}{
		{"that another authority signed", newAuthority(t).issue(t, t.TempDir()), "unknown authority"},
		{"that does not carry the wanted name", named, "ovn.example"},
		{"as long as the CA cannot be read", missing, "missing.pem"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			log := logrus.New()
			log.SetOutput(io.Discard)
			why := make(refusal, 100)
			log.AddHook(why)
			client := run(t, ovsdb.Options{Endpoints: []string{endpoint}, TLS: tc.files, Log: log})
			require.ErrorContains(t, <-why, tc.want)
			require.False(t, client.Connected())
		})
	}
}
