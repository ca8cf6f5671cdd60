package cause_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/cause"
)

func TestCausesReadTheSameAtEachAttempt(t *testing.T) {
	at := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port} }
	expired := x509.CertificateInvalidError{Reason: x509.Expired, Cert: &x509.Certificate{
		NotBefore: time.Unix(0, 0).UTC(), NotAfter: time.Unix(86400, 0).UTC(),
	}}
	for _, tc := range []struct {
		name    string
		attempt func(n int) error
		want    string
	}{
		{
			"an expired certificate",
			func(n int) error {
				e := expired
				e.Detail = fmt.Sprintf("current time %d", n)
				return fmt.Errorf("tls: %w", e)
			},
			"the server's certificate has expired or is not valid yet: it is valid from 1970-01-01T00:00:00Z to 1970-01-02T00:00:00Z",
		},
		{
			"a lost connection",
			func(n int) error {
				return fmt.Errorf("read: %w", &net.OpError{Op: "read", Net: "tcp", Source: at(n), Addr: at(6641), Err: syscall.ECONNRESET})
			},
			"read tcp 192.0.2.1:6641: connection reset by peer",
		},
		{
			"a name server that does not answer",
			func(n int) error {
				return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "db", Server: fmt.Sprint(n), Err: fmt.Sprint(n), IsTimeout: true}}
			},
			"look up db: the name server does not answer",
		},
		{
			"a name that does not exist",
			func(int) error {
				return &net.DNSError{Name: "db", Server: "192.0.2.2:53", Err: "no such host", IsNotFound: true}
			},
			"look up db: no such host",
		},
		{
			"a request",
			func(n int) error {
				return &url.Error{Op: "Get", URL: fmt.Sprint("https://db?n=", n), Err: errors.New("refused")}
			},
			"refused",
		},
		{"anything else", func(int) error { return errors.New("no quorum") }, "no quorum"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for n := range 2 {
				err := tc.attempt(n)
				require.EqualError(t, cause.Of(err), tc.want)
				require.ErrorIs(t, cause.Of(err), err)
			}
		})
	}
	require.NoError(t, cause.Of(nil))
}

func TestPlainIsTheSameAtEachAttempt(t *testing.T) {
	require.Empty(t, cause.Plain(nil))
	require.Equal(t, "dial tcp 10.0.0.2:443: refused", cause.Plain(errors.New("dial tcp 10.0.0.1:34567->10.0.0.2:443: refused")))
}
