package gateway_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/netloom/netloom/test/await"
)

// TestTheAuthorityOfHTTP2Decides sends two host names in one request.
func TestTheAuthorityOfHTTP2Decides(t *testing.T) {
	t.Parallel()
	caA, caB := newAuthority(t), newAuthority(t)
	a, b := newAPIServer(t, caA), newAPIServer(t, caB)
	r := newRig(t, nil)
	r.serve(cluster("a.example", caA, a))
	r.serve(cluster("b.example", caB, b))
	roots := x509.NewCertPool()
	roots.AddCert(r.serving.cert)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "a.example", Certificates: []tls.Certificate{caA.pair("ann")}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}}
	for _, tc := range []struct {
		headers [][2]string
		want    string
	}{
		{[][2]string{{":authority", "a.example"}, {"host", "b.example"}}, "200"},
		{[][2]string{{":authority", "b.example"}, {"host", "a.example"}}, "401"},
		{[][2]string{{"host", "b.example"}}, "401"},
		{[][2]string{{":authority", "a.example@b.example"}}, ""},
		{[][2]string{{":authority", "[::1]:6443"}}, "200"}, // the name of the connection decides,
		{[][2]string{{":authority", "a.example"}, {":authority", "b.example"}}, ""},
		{[][2]string{{":authority", "a.example"}, {":protocol", "websocket"}}, ""},
	} {
		conn, err := dialer.DialContext(t.Context(), "tcp", r.address)
		require.NoError(t, err)
		limit(t, conn)
		_, err = io.WriteString(conn, http2.ClientPreface)
		require.NoError(t, err)
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for _, h := range append([][2]string{{":method", "GET"}, {":scheme", "https"}, {":path", "/version"}}, tc.headers...) {
			require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
		}
		framer := http2.NewFramer(conn, conn)
		framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		require.NoError(t, framer.WriteSettings())
		require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true}))
		require.Equal(t, tc.want, answerOf(t, framer), "%v", tc.headers)
		require.NoError(t, conn.Close())
	}
	require.Equal(t, [2]int{2, 0}, [2]int{a.total(), b.total()})
	require.Empty(t, a.request().Header["Host"])
}

// answerOf returns the status of the response, "" if the stream or the connection ends without one.
func answerOf(t *testing.T, framer *http2.Framer) string {
	t.Helper()
	for {
		frame, err := framer.ReadFrame()
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		if err != nil {
			return ""
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return ""
		}
	}
}

// TestManyHeadersAreRefused sends more lines than a client needs, in both protocols.
func TestManyHeadersAreRefused(t *testing.T) {
	t.Parallel()
	r, server, ca, client := one(t, nil)
	_, reader := r.raw("GET /version HTTP/1.1\r\nHost: a.example\r\n"+strings.Repeat("X: y\r\n", 20000)+"\r\n", ca.pair("ann"))
	require.Contains(t, []int{0, http.StatusRequestHeaderFieldsTooLarge}, status(t, reader))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, http.NoBody)
	require.NoError(t, err)
	request.Header["X"] = slices.Repeat([]string{"y"}, 20000)
	response, err := client.Do(request)
	if err == nil {
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
		require.NoError(t, response.Body.Close())
	}
	require.Zero(t, server.total())
}

// TestOldAndCautiousClients sends requests that HTTP allows and that no library of Kubernetes sends.
func TestOldAndCautiousClients(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	_, reader := r.raw("GET /version HTTP/1.0\r\nHost: a.example\r\n\r\n", ca.pair("ann"))
	require.Equal(t, 200, status(t, reader))
	_, reader = r.raw("GET /version HTTP/1.0\r\n\r\n", ca.pair("ann"))
	require.Equal(t, 503, status(t, reader), "no host name")
	_, reader = r.raw("GET /version HTTP/1.1\r\n\r\n", ca.pair("ann"))
	require.Equal(t, 400, status(t, reader), "HTTP/1.1 requires one")

	const body = "POST /api/v1/namespaces/shop/pods HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	conn, reader := r.raw(body, ca.pair("ann"))
	require.Equal(t, 100, status(t, reader), "the client may send the body")
	_, err := io.WriteString(conn, "hello")
	require.NoError(t, err)
	require.Equal(t, 200, status(t, reader))
	require.EqualValues(t, 5, server.request().Body)
	_, reader = r.raw(body)
	require.Equal(t, 401, status(t, reader), "nobody needs to send a body to be refused")

	// The API server decides what it switches protocols for: here it answers with a list.
	server.change(func() {
		server.objects = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Upgrade") == "" {
				return false
			}
			server.note(r, 0)
			_, _ = io.WriteString(w, "list")
			return true
		}
	})
	before := server.total()
	const ask = "GET /api/v1/pods HTTP/1.1\r\nHost: a.example\r\n"
	_, reader = r.raw(ask+"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"+ask+"\r\n", ca.pair("ann"))
	require.Equal(t, 200, status(t, reader))
	require.Equal(t, 200, status(t, reader), "the second request is one of its own, of the same user")
	require.Equal(t, before+2, server.total())
	require.Equal(t, "ann", server.request().Header.Get("Impersonate-User"))
}

// TestEscapedExtraKeysAreReviewedAsTheAPIServerReadsThem asks to impersonate with keys whose escapes hide other keys.
func TestEscapedExtraKeysAreReviewedAsTheAPIServerReadsThem(t *testing.T) {
	t.Parallel()
	r, server, _, client := one(t, nil)
	server.change(func() {
		server.may["ann users bob"], server.may["ann userextras view"] = true, true
	})
	for sent, want := range map[string]string{
		"Impersonate-Extra-%53cope":        "Impersonate-Extra-%53cope",
		"Impersonate-Extra-Acme.com%2fX":   "Impersonate-Extra-Acme.com%2fx",
		"Impersonate-Extra-%2541":          "Impersonate-Extra-%2541",
		"Impersonate-Extra-%69mpersonate":  "Impersonate-Extra-Impersonate",
		"Impersonate-Extra-%0d%0aX%3a%20y": "Impersonate-Extra-%0d%0ax%3a%20y",
		"Impersonate-Extra-%ZZ":            "Impersonate-Extra-%25zz",
	} {
		got := r.ask(client, http.MethodGet, pods, "Impersonate-User", "bob", sent, "view")
		require.Equal(t, 200, got.code, "%s: %s", sent, got.body)
		var extras []string
		for name := range server.request().Header {
			if strings.HasPrefix(name, "Impersonate-Extra-") {
				extras = append(extras, name)
			}
		}
		require.Equal(t, []string{http.CanonicalHeaderKey(want)}, extras, sent)
		require.Equal(t, []string{"bob"}, server.request().Header["Impersonate-User"])
	}
}

// raw writes bytes to a TLS connection with HTTP/1.1 for a.example, and returns a reader of the responses.
func (r *rig) raw(text string, certs ...tls.Certificate) (net.Conn, *bufio.Reader) {
	r.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.serving.cert)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "a.example", Certificates: certs, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(r.t.Context(), "tcp", r.address)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	limit(r.t, conn)
	_, err = io.WriteString(conn, text)
	require.NoError(r.t, err)
	return conn, bufio.NewReader(conn)
}

// limit has reads of a connection end before the test program would be ended.
func limit(t *testing.T, conn net.Conn) {
	t.Helper()
	if end, ok := await.End(t); ok {
		require.NoError(t, conn.SetDeadline(end))
	}
}
