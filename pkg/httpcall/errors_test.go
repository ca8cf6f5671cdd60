package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSafe checks the messages for errors of the connection, each within one that quotes an answer.
func TestSafe(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.New("malformed"), "the response is not HTTP"},
		{io.EOF, "the connection ended"},
		{io.ErrUnexpectedEOF, "the connection ended"},
		{net.ErrClosed, "the connection ended"},
		{io.ErrClosedPipe, "the connection ended"},
		{&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}, "read tcp: connection reset by peer"},
		{&net.DNSError{Err: "no such host", Name: "x"}, "lookup x: no such host"},
		{&dialError{errors.New("no route")}, "connect: no route"},
		{&tls.CertificateVerificationError{Err: errors.New("who?")}, "tls: failed to verify certificate: who?"},
		{tls.AlertError(40), "tls: handshake failure"},
		{tls.RecordHeaderError{Msg: "not TLS"}, "tls: not TLS"},
		{context.Canceled, "context canceled"},
		{context.DeadlineExceeded, "context deadline exceeded"},
		{ErrTooLarge, "response too large"},
		{ErrNotHTTP, "the response is not HTTP"},
		{&dialError{&net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}}, "connect: dial tcp: context deadline exceeded"},
		{slow{}, "no response in time"},
	} {
		require.EqualError(t, Safe(fmt.Errorf("read \"test_key\": %w", tc.err)), tc.want)
	}
}

// slow is an error of a connection that took too long.
type slow struct{}

func (slow) Error() string   { return "test_key" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return false }
