package transport_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/test/await"
)

// endpoint is an HTTP/2 server that counts what reaches it.
type endpoint struct {
	*httptest.Server
	accepted atomic.Int64
	watches  atomic.Int64 // in flight
	release  chan struct{}
}

// listener counts accepted connections.
type listener struct {
	net.Listener
	e *endpoint
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.e.accepted.Add(1)
	}
	return c, err
}

// newEndpoint starts a server that serves so many streams on a connection; zero means HTTP/1.1 only. GET /watch lasts until
// the client leaves; everything else tells how it arrived.
func newEndpoint(t *testing.T, streams int) *endpoint { return newEndpointOn(t, nil, streams) }

// newEndpointOn is newEndpoint on a listener; nil is one of TCP.
func newEndpointOn(t *testing.T, on net.Listener, streams int) *endpoint {
	e := &endpoint{release: make(chan struct{})}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/watch" {
			e.watches.Add(1)
			defer e.watches.Add(-1)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-e.release:
			}
			return
		}
		w.Header().Set("Protocol", r.Proto)
		w.Header().Set("Saw-Authorization", r.Header.Get("Authorization"))
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			w.Header().Set("Saw-Client", r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}))
	if on != nil {
		require.NoError(t, e.Listener.Close())
		e.Listener = on
	}
	e.Listener = listener{e.Listener, e}
	e.EnableHTTP2 = streams > 0
	e.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	e.StartTLS()
	t.Cleanup(func() { close(e.release); e.CloseClientConnections(); e.Close() })
	return e
}

func (e *endpoint) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})
}

func (e *endpoint) config() transport.Config {
	return transport.Config{CA: e.ca(), ServerName: "example.com"}
}

func (e *endpoint) transport(t *testing.T, config transport.Config) *transport.Transport {
	u, err := url.Parse(e.URL)
	require.NoError(t, err)
	tr, err := transport.New(u, config)
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	return tr
}

func send(tr http.RoundTripper, ctx context.Context, path string, edit ...func(*http.Request)) (*http.Response, error) { //nolint:revive // the transport is what is asked
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://anything.invalid"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	for _, f := range edit {
		f(req)
	}
	return tr.RoundTrip(req)
}

// get sends a short request and returns the header of its answer.
func get(t *testing.T, tr http.RoundTripper) http.Header {
	resp, err := send(tr, t.Context(), "/")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.Header
}

// watch opens n watches at once and returns their bodies.
func watch(t *testing.T, tr *transport.Transport, n int) []io.ReadCloser {
	bodies := make([]io.ReadCloser, n)
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			resp, err := send(tr, t.Context(), "/watch") //nolint:bodyclose // the caller closes all
			if err == nil {
				bodies[i] = resp.Body
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	t.Cleanup(func() { closeAll(bodies) })
	return bodies
}

func closeAll(bodies []io.ReadCloser) {
	for _, b := range bodies {
		_ = b.Close()
	}
}

// bound is the number of connections that so many requests may use.
func bound(requests, perConnection int) int { return (requests+perConnection-1)/perConnection + 1 }

func TestRequestsShareConnections(t *testing.T) {
	for name, streams := range map[string]int{
		"the limit of kube-apiserver":                  100,
		"a limit below what HTTP/2 clients assume":     7,
		"a limit far above what HTTP/2 clients assume": 1000,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, streams)
			tr := e.transport(t, e.config())
			n := min(3000, 20*streams)
			watch(t, tr, n)
			require.LessOrEqual(t, int(e.accepted.Load()), bound(n, streams), "connections for %d watches", n)
			require.Equal(t, int64(n), e.watches.Load(), "no watch waits behind another")
			stats := tr.Stats()
			require.Equal(t, n, stats.Streams)
			require.LessOrEqual(t, stats.Open, bound(n, streams))
			require.Equal(t, e.accepted.Load(), int64(stats.Dialed))
			require.Equal(t, "HTTP/2.0", get(t, tr).Get("Protocol"))
		})
	}
}

func TestReconnectingAtOnceSharesConnections(t *testing.T) {
	const n, streams = 2000, 100
	e := newEndpoint(t, streams)
	tr := e.transport(t, e.config())
	for range 3 {
		before := e.accepted.Load()
		bodies := watch(t, tr, n)
		require.LessOrEqual(t, int(e.accepted.Load()-before), bound(n, streams))
		e.CloseClientConnections()
		for _, b := range bodies { // every watch has failed, and is opened again at the same time as all others
			_, err := io.Copy(io.Discard, b)
			require.Error(t, err)
		}
	}
}

func TestFewerRequestsNeedFewerConnections(t *testing.T) {
	e := newEndpoint(t, 10)
	tr := e.transport(t, e.config())
	bodies := watch(t, tr, 100)
	closeAll(bodies)
	await.True(t, func() bool { return tr.Stats().Streams == 0 }, "the end of all streams")
	tr.CloseIdleConnections()
	await.True(t, func() bool { return tr.Stats().Open == 0 }, "the end of all connections")
	get(t, tr)
	require.Equal(t, 1, tr.Stats().Open)
}

func TestUpgradesUseHTTP1(t *testing.T) {
	echo := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack() // fails on HTTP/2
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw)
	}))
	echo.EnableHTTP2 = true
	echo.StartTLS()
	t.Cleanup(echo.Close)
	e := &endpoint{Server: echo}
	tr := e.transport(t, e.config())
	resp, err := send(tr, t.Context(), "/exec", func(r *http.Request) {
		r.Header.Set("Connection", "keep-alive, upgrade")
		r.Header.Set("Upgrade", "SPDY/3.1")
	})
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	stream, ok := resp.Body.(io.ReadWriter)
	require.True(t, ok)
	_, err = io.WriteString(stream, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(stream).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	tr.Close()
	_, err = stream.Read(make([]byte, 1))
	require.Error(t, err, "Close ends upgraded connections")
}

func TestEndpointsWithoutHTTP2(t *testing.T) {
	e := newEndpoint(t, 0)
	require.Equal(t, "HTTP/1.1", get(t, e.transport(t, e.config())).Get("Protocol"))

	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(plain.Close)
	get(t, (&endpoint{Server: plain}).transport(t, transport.Config{}))
}

func TestUpdate(t *testing.T) {
	e := newEndpoint(t, 100)
	config := e.config()
	config.BearerToken = "old"
	tr := e.transport(t, config)
	running := watch(t, tr, 3)
	require.Equal(t, "Bearer old", get(t, tr).Get("Saw-Authorization"))

	config.BearerToken = "new"
	require.NoError(t, tr.Update(config))
	require.Equal(t, "Bearer new", get(t, tr).Get("Saw-Authorization"))
	require.Equal(t, int64(1), e.accepted.Load(), "a token belongs to no connection")

	wrong := config
	wrong.CA = []byte("no certificate")
	require.ErrorContains(t, tr.Update(wrong), "root certificates")
	wrong = config
	wrong.Key = []byte("no key")
	require.Error(t, tr.Update(wrong))
	wrong = config
	wrong.Insecure = true
	require.ErrorContains(t, tr.Update(wrong), "insecure")
	get(t, tr)

	wrong = config
	wrong.CA, _ = certificate(t, "another CA")
	require.NoError(t, tr.Update(wrong))
	_, err := send(tr, t.Context(), "/") //nolint:bodyclose // there is no response
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown, "connections of the old CA are not used")
	require.True(t, unconnected(err))

	wrong = e.config()
	wrong.CA, wrong.Insecure = nil, true
	require.NoError(t, tr.Update(wrong))
	get(t, tr)

	require.NoError(t, tr.Update(config))
	get(t, tr)
	require.Equal(t, int64(3), e.watches.Load(), "watches continue")
	closeAll(running)
	await.True(t, func() bool { return tr.Stats().Open == 1 }, "old connections end with their last request")
}

func TestClientCertificateRotates(t *testing.T) {
	e := &endpoint{release: make(chan struct{})}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Saw-Client", r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	e.EnableHTTP2 = true
	e.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	e.StartTLS()
	t.Cleanup(e.Close)
	config := e.config()
	config.Cert, config.Key = certificate(t, "old")
	tr := e.transport(t, config)
	require.Equal(t, "old", get(t, tr).Get("Saw-Client"))
	config.Cert, config.Key = certificate(t, "new")
	require.NoError(t, tr.Update(config))
	require.Equal(t, "new", get(t, tr).Get("Saw-Client"))
}

func TestInvalidEndpoints(t *testing.T) {
	for _, s := range []string{"", "tcp://a:1", "https://", "https://a/path", "https://user@a", "https://a?b"} {
		u, err := url.Parse(s)
		require.NoError(t, err)
		_, err = transport.New(u, transport.Config{})
		require.Error(t, err, s)
	}
	_, err := transport.New(&url.URL{Scheme: "https", Host: "a"}, transport.Config{DialTimeout: -1})
	require.ErrorContains(t, err, "dial timeout")
}

// certificate returns a self-signed certificate and its key.
func certificate(t *testing.T, name string) (cert, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Unix(1<<33, 0), IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// unconnected reports whether err says that there was no connection.
func unconnected(err error) bool {
	var e *transport.NotProcessedError
	return errors.As(err, &e) && !e.Connected
}
