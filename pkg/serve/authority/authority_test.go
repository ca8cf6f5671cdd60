package authority_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/authority"
)

// TestCertificatesAreForOnePurpose uses each certificate for what it is not meant for, too.
func TestCertificatesAreForOnePurpose(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, err := authority.New("a", now, authority.Year)
	require.NoError(t, err)
	other, err := authority.New("a", now, authority.Year)
	require.NoError(t, err)
	server, err := a.Server("prod", "127.0.0.1", "::1")
	require.NoError(t, err)
	client, err := a.Client("ann")
	require.NoError(t, err)
	verify := func(p authority.Pair, by *authority.Authority, name string, usage x509.ExtKeyUsage, at time.Time) error {
		pair, err := tls.X509KeyPair(p.Cert, p.Key)
		require.NoError(t, err)
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(by.PEM()))
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: at})
		return err
	}
	for _, name := range []string{"prod", "127.0.0.1", "::1"} {
		require.NoError(t, verify(server, a, name, x509.ExtKeyUsageServerAuth, now), name)
	}
	require.NoError(t, verify(client, a, "", x509.ExtKeyUsageClientAuth, now))
	require.Error(t, verify(server, a, "staging", x509.ExtKeyUsageServerAuth, now))
	require.Error(t, verify(server, a, "", x509.ExtKeyUsageClientAuth, now), "a server is no client")
	require.Error(t, verify(client, a, "", x509.ExtKeyUsageServerAuth, now), "a client is no server")
	require.Error(t, verify(client, other, "", x509.ExtKeyUsageClientAuth, now), "another authority of the same name")
	require.Error(t, verify(client, a, "", x509.ExtKeyUsageClientAuth, now.Add(authority.Year+time.Minute)))
}
