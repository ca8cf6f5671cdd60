package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/transport"
)

// Config says how to reach and authenticate an endpoint. The zero value is valid: system roots, no credentials, default
// timeouts.
type Config struct {
	// ServerName is the name that the endpoint's certificate must carry; empty means the host of the endpoint.
	ServerName string
	// Insecure accepts any certificate. It cannot be combined with CA.
	Insecure bool
	// CA holds the certificates that the endpoint's certificate must be signed by, in PEM; empty means the roots of the system.
	CA []byte
	// Cert and Key are the client certificate and its key in PEM. Either both are set or neither.
	Cert, Key []byte
	// BearerToken replaces the Authorization header of every request unless it is empty.
	BearerToken string

	// DialTimeout and TLSTimeout limit how long connecting and the TLS handshake take. Zero means 5 and 10 seconds.
	DialTimeout, TLSTimeout time.Duration
	// ConnectTimeout limits all of it together, with the endpoint's first answer. Zero means the sum of the two and PingTimeout.
	ConnectTimeout time.Duration
	// PingAfter is how long a connection may be silent before it is tested with a ping; PingTimeout is how long the answer may
	// take before everything on the connection fails. Zero means 30 and 15 seconds.
	PingAfter, PingTimeout time.Duration
	// IdleTimeout is how long a connection without requests stays open. Zero means 90 seconds.
	IdleTimeout time.Duration

	// DialContext connects to the endpoint; nil means a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// streamWindow limits how much of a response is buffered here for a client that does not read it. The default of
// golang.org/x/net/http2, 4 MiB, would be 12 GiB for 3,000 watches.
const streamWindow = 256 << 10

func (c Config) withDefaults() Config {
	orElse := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orElse(&c.DialTimeout, 5*time.Second)
	orElse(&c.TLSTimeout, 10*time.Second)
	orElse(&c.PingAfter, 30*time.Second)
	orElse(&c.PingTimeout, 15*time.Second)
	orElse(&c.IdleTimeout, 90*time.Second)
	orElse(&c.ConnectTimeout, c.DialTimeout+c.TLSTimeout+c.PingTimeout)
	if c.DialContext == nil {
		c.DialContext = (&net.Dialer{Timeout: c.DialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	return c
}

// tlsConfig returns the TLS settings for an endpoint with this host.
func (c Config) tlsConfig(host string) (*tls.Config, error) {
	for name, d := range map[string]time.Duration{
		"dial timeout": c.DialTimeout, "TLS timeout": c.TLSTimeout, "ping interval": c.PingAfter, "ping timeout": c.PingTimeout,
		"idle timeout": c.IdleTimeout, "connect timeout": c.ConnectTimeout,
	} {
		if d < 0 {
			return nil, fmt.Errorf("the %s is negative", name)
		}
	}
	if (len(c.Cert) == 0) != (len(c.Key) == 0) {
		return nil, errors.New("a client certificate and its key belong together, and one of them is missing")
	}
	name := c.ServerName
	if name == "" {
		name = host
	}
	return transport.TLSConfigFor(&transport.Config{TLS: transport.TLSConfig{
		ServerName: name, Insecure: c.Insecure, CAData: c.CA, CertData: c.Cert, KeyData: c.Key,
	}})
}
