package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
)

// http2Retry is how long an endpoint that refused HTTP/2 is used with HTTP/1.1 before HTTP/2 is tried again.
const http2Retry = time.Minute

// Transport is an http.RoundTripper to one endpoint. It is safe for concurrent use.
type Transport struct {
	endpoint *url.URL
	conns    openConns

	mu      sync.Mutex
	current atomic.Pointer[generation]
	retired []*generation // replaced by Update; some of their requests may be in flight
	closed  bool
}

// Stats counts what a Transport has opened and has in use.
type Stats struct {
	Dialed  uint64 // connections that were opened since New
	Open    int    // connections that are open now
	Streams int    // requests in flight on HTTP/2
}

// New returns a transport to endpoint, "https://host:port" or "http://host:port". It does not connect.
func New(endpoint *url.URL, config Config) (*Transport, error) {
	if (endpoint.Scheme != "https" && endpoint.Scheme != "http") || endpoint.Host == "" ||
		endpoint.User != nil || (endpoint.Path != "" && endpoint.Path != "/") || endpoint.RawQuery != "" {
		return nil, fmt.Errorf("endpoint %q: not of the form https://host:port", endpoint.Redacted())
	}
	t := &Transport{endpoint: &url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}, conns: openConns{began: time.Now()}}
	return t, t.Update(config)
}

// Update replaces the configuration. Requests that begin later use it; requests in flight, for example watches, continue on
// their connections. After an error the previous configuration stays in use.
func (t *Transport) Update(config Config) error {
	g, err := t.newGeneration(config)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	old := t.current.Load()
	if old != nil && old.connectsLike(config) {
		kept := *old // only the token differs, and it belongs to no connection
		kept.config = config
		t.current.Store(&kept)
		return nil
	}
	t.current.Store(g)
	t.retired = slices.DeleteFunc(t.retired, func(g *generation) bool { return g.pool.streams() == 0 })
	if old != nil {
		old.pool.drain()
		old.http1.CloseIdleConnections()
		t.retired = append(t.retired, old)
	}
	return nil
}

// RoundTrip sends req to the endpoint, whatever the host of its URL. It never decompresses, follows or repeats anything that
// the endpoint may have executed. After a NotProcessedError the request can be sent again.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	g := t.current.Load()
	out := req
	if req.URL.Scheme != t.endpoint.Scheme || req.URL.Host != t.endpoint.Host || g.config.BearerToken != "" {
		out = req.WithContext(req.Context())
		u := *req.URL
		u.Scheme, u.Host = t.endpoint.Scheme, t.endpoint.Host
		out.URL = &u
	}
	if g.config.BearerToken != "" {
		out.Header = req.Header.Clone()
		if out.Header == nil {
			out.Header = http.Header{}
		}
		out.Header.Set("Authorization", "Bearer "+g.config.BearerToken)
	}
	if upgrades(out) || t.endpoint.Scheme == "http" || g.usesHTTP1() {
		return g.http1.RoundTrip(out)
	}
	resp, err := g.roundTrip(out)
	if errors.Is(err, errNoHTTP2) {
		now := time.Now()
		g.http1Since.Store(&now)
		return g.http1.RoundTrip(out)
	}
	return resp, err
}

// Ping asks the endpoint for a sign of life on connections of HTTP/2 that are open. It returns an error if nothing at all came from the
// endpoint until ctx ended, and nil if there is no such connection.
func (t *Transport) Ping(ctx context.Context) error {
	before := t.conns.received.Load()
	err := t.current.Load().pool.ping(ctx)
	if err != nil && t.conns.received.Load() != before {
		return nil // it sends so much that the answer has to wait
	}
	return err
}

// Received returns when something last came from the endpoint, on any connection; the zero time if nothing has.
func (t *Transport) Received() time.Time {
	if last := t.conns.last.Load(); last > 0 {
		return t.conns.began.Add(time.Duration(last))
	}
	return time.Time{}
}

// Stats returns what the transport has opened and has in use.
func (t *Transport) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s Stats
	s.Dialed, s.Open = t.conns.count()
	for _, g := range t.generations() {
		s.Streams += g.pool.streams()
	}
	return s
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.generations() {
		g.pool.closeIdle()
		g.http1.CloseIdleConnections()
	}
}

// Close ends every request in flight, upgraded connections included. Later requests fail.
func (t *Transport) Close() {
	t.mu.Lock()
	t.closed = true
	all := t.generations()
	t.mu.Unlock()
	t.conns.close()
	for _, g := range all {
		g.pool.close()
		g.http1.CloseIdleConnections()
	}
}

func (t *Transport) generations() []*generation {
	return append([]*generation{t.current.Load()}, t.retired...)
}

// generation is what depends on one configuration.
type generation struct {
	config     Config
	pool       *pool
	http2      *http2.Transport
	http1      *http.Transport
	http1Since *atomic.Pointer[time.Time] // when the endpoint refused HTTP/2
}

func (t *Transport) newGeneration(config Config) (*generation, error) {
	tlsConfig, err := config.tlsConfig(t.endpoint.Hostname())
	if err != nil {
		return nil, err
	}
	g := &generation{config: config, http1Since: &atomic.Pointer[time.Time]{}}
	config = config.withDefaults()
	connect := func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, config.DialTimeout)
		defer cancel()
		conn, err := config.DialContext(ctx, "tcp", hostPort(t.endpoint))
		if err != nil {
			return nil, err
		}
		return t.conns.add(conn)
	}
	secure := func(ctx context.Context, protocols ...string) (*tls.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		defer cancel()
		conn, err := connect(ctx)
		if err != nil {
			return nil, err
		}
		settings := tlsConfig.Clone()
		settings.NextProtos = protocols
		return handshake(ctx, conn, settings, config.TLSTimeout)
	}
	g.http1 = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialed(connect(ctx)) },
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialed(secure(ctx, "http/1.1"))
		},
		DisableCompression:  true,
		IdleConnTimeout:     config.IdleTimeout,
		MaxIdleConnsPerHost: 64,
	}
	g.http2, err = http2.ConfigureTransports(&http.Transport{
		DisableCompression: true,
		IdleConnTimeout:    config.IdleTimeout,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamWindow,
			SendPingTimeout:           config.PingAfter,
			PingTimeout:               config.PingTimeout,
			WriteByteTimeout:          config.PingAfter + config.PingTimeout,
		},
	})
	if err != nil {
		return nil, err
	}
	g.pool = &pool{
		transport: g.http2,
		timeout:   config.ConnectTimeout,
		dial: func(ctx context.Context) (net.Conn, error) {
			conn, err := secure(ctx, http2.NextProtoTLS, "http/1.1")
			if err == nil && conn.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
				_ = conn.Close() // nothing was sent
				return nil, errNoHTTP2
			}
			return conn, err
		},
	}
	g.http2.ConnPool = g.pool
	return g, nil
}

// connectsLike reports whether connections of g serve requests under config: they differ at most in the token.
func (g *generation) connectsLike(config Config) bool {
	a, b := g.config, config
	a.BearerToken, b.BearerToken = "", ""
	return reflect.DeepEqual(a, b) // false for functions, which cannot be compared
}

func (g *generation) usesHTTP1() bool {
	since := g.http1Since.Load()
	return since != nil && time.Since(*since) < http2Retry
}

// roundTrip sends a request on an HTTP/2 connection, once. http2.Transport would send some requests again that the endpoint may have
// executed: those whose stream was reset with PROTOCOL_ERROR.
func (g *generation) roundTrip(req *http.Request) (*http.Response, error) {
	conn, err := g.pool.GetClientConn(req, "")
	if err != nil {
		return nil, err
	}
	resp, err := conn.RoundTrip(req)
	if err == nil {
		return resp, nil
	}
	if conn.State().Closed {
		g.pool.MarkDead(conn)
	}
	if isUnprocessed(err) {
		err = &NotProcessedError{Err: err, Connected: true}
	}
	return nil, err
}

func handshake(ctx context.Context, raw net.Conn, config *tls.Config, timeout time.Duration) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the first error matters
		return nil, fmt.Errorf("TLS handshake with %s: %w", raw.RemoteAddr(), err)
	}
	return conn, nil
}

// dialed marks the error of a dial.
func dialed[C net.Conn](conn C, err error) (net.Conn, error) {
	if err != nil {
		return nil, notConnected(err)
	}
	return conn, nil
}

// upgrades reports whether req asks to use the connection for another protocol.
func upgrades(req *http.Request) bool {
	return req.Header.Get("Upgrade") != "" && httpguts.HeaderValuesContainsToken(req.Header["Connection"], "Upgrade")
}

// hostPort returns the address to dial.
func hostPort(endpoint *url.URL) string {
	port := endpoint.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[endpoint.Scheme]
	}
	return net.JoinHostPort(endpoint.Hostname(), port)
}
