package gateway_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/test/await"
)

// status reads one response, and returns its code, or 0 if the connection was closed instead.
func status(t *testing.T, reader *bufio.Reader) int {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the gateway neither answers nor closes the connection")
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// TestHeadersOfClientsNeverReachTheAPIServer sends every header that could change who the API server thinks is asking.
func TestHeadersOfClientsNeverReachTheAPIServer(t *testing.T) {
	t.Parallel()
	r, server, ca, client := one(t, nil)
	spoofed := []string{
		"X-Remote-User", "admin", "X-Remote-Group", "system:masters", "X-Remote-Uid", "0", "X-Remote-Extra-Scopes", "all",
		"X-Forwarded-For", "192.0.2.1", "X-Real-Ip", "192.0.2.1", "Forwarded", "for=192.0.2.1", "Authorization", "Bearer gateway",
	}
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods, spoofed...).code)
	h := server.request().Header
	require.Equal(t, []string{"ann"}, h["Impersonate-User"])
	require.Equal(t, []string{"Bearer gateway"}, h["Authorization"], "the gateway's own")
	require.Equal(t, []string{"127.0.0.1"}, h["X-Forwarded-For"])
	for _, name := range []string{"X-Remote-User", "X-Remote-Group", "X-Remote-Uid", "X-Remote-Extra-Scopes", "X-Real-Ip", "Forwarded"} {
		require.Empty(t, h[name], name)
	}
	for _, header := range []string{"Impersonate-Uid: 0", "Impersonate-Extra-Scopes: all", "Impersonate-Group: system:masters", "impersonate-user: admin", "Impersonate-User: \r\nImpersonate-Group: x"} {
		_, reader := r.raw("GET /api/v1/pods HTTP/1.1\r\nHost: a.example\r\n"+header+"\r\n\r\n", ca.pair("ann"))
		require.Contains(t, []int{400, 403}, status(t, reader), header)
	}
	require.Equal(t, 1, server.total())
}

// TestTheConnectionHeaderRemovesNoIdentity names the gateway's own headers as headers of the connection, which a proxy removes.
func TestTheConnectionHeaderRemovesNoIdentity(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	_, reader := r.raw("GET /api/v1/pods HTTP/1.1\r\nHost: a.example\r\nConnection: Impersonate-User, Impersonate-Group, Authorization, Audit-Id\r\n\r\n", ca.pair("ann", "dev"))
	require.Equal(t, 200, status(t, reader))
	h := server.request().Header
	require.Equal(t, []string{"ann"}, h["Impersonate-User"])
	require.Equal(t, []string{"dev"}, h["Impersonate-Group"])
	require.Equal(t, []string{"Bearer gateway"}, h["Authorization"])
}

func TestTrailersAreNotForwarded(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	_, reader := r.raw("POST /api/v1/namespaces/shop/pods HTTP/1.1\r\nHost: a.example\r\nTrailer: Impersonate-User\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"2\r\n{}\r\n0\r\nImpersonate-User: admin\r\n\r\n", ca.pair("ann"))
	require.Equal(t, 200, status(t, reader))
	require.Equal(t, []string{"ann"}, server.request().Header["Impersonate-User"])
	require.Empty(t, server.request().Header["Trailer"])
	require.Empty(t, server.request().Trailer)
}

// TestNamesInCertificatesCannotBecomeOthers uses certificates that the CA of the cluster signed, for names with spaces or line
// ends, which headers would lose.
func TestNamesInCertificatesCannotBecomeOthers(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	for _, name := range []string{" admin", "admin ", "ann\r\nImpersonate-Group: system:masters", "\tadmin"} {
		got := r.ask(r.client("a.example", ca.pair(name)), http.MethodGet, pods)
		require.Equal(t, 403, got.code, "%q", name)
	}
	require.Equal(t, 403, r.ask(r.client("a.example", ca.pair("ann", "system:masters ")), http.MethodGet, pods).code)
	require.Zero(t, server.total())
}

func TestOnlyKnownProtocolsAreSwitchedTo(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	for name, headers := range map[string]string{
		"HTTP/2 without TLS":       "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
		"an unknown protocol":      "Connection: Upgrade\r\nUpgrade: made-up\r\n",
		"several protocols":        "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n",
		"a list of protocols":      "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n",
		"no protocol":              "Connection: Upgrade\r\n",
		"a request within a body":  "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n",
		"a body of unknown length": "Connection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n",
		"a protocol by itself":     "Upgrade: h2c\r\n",
	} {
		_, reader := r.raw("GET /api/v1/namespaces/shop/pods/web/exec HTTP/1.1\r\nHost: a.example\r\n"+headers+"\r\nhello", ca.pair("ann"))
		require.Equal(t, 400, status(t, reader), name)
	}
	for _, method := range []string{"CONNECT", "TRACE", "PROPFIND"} {
		_, reader := r.raw(method+" /api/v1/pods HTTP/1.1\r\nHost: a.example\r\n\r\n", ca.pair("ann"))
		require.Contains(t, []int{400, 405}, status(t, reader), method)
	}
	_, reader := r.raw("OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", ca.pair("ann"))
	require.Contains(t, []int{200, 405}, status(t, reader), "the server itself answers this")
	require.Zero(t, server.total())
}

// TestRequestsCannotBeSmuggled sends requests whose end can be read in two ways. The second request is never answered as one
// of its own.
func TestRequestsCannotBeSmuggled(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	const inner = "GET /api/v1/secrets HTTP/1.1\r\nHost: a.example\r\n\r\n"
	for name, text := range map[string]string{
		"two lengths":             "Content-Length: 0\r\nContent-Length: 52\r\n\r\n" + inner,
		"an unknown encoding":     "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
		"two encodings":           "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner,
		"a space before a colon":  "Content-Length : 52\r\n\r\n" + inner,
		"two hosts":               "Host: b.example\r\n\r\n" + inner,
		"a bad chunk length":      "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + inner,
		"a negative length":       "Content-Length: -1\r\n\r\n" + inner,
		"a line end in a header":  "X: a\rContent-Length: 52\r\n\r\n" + inner,
		"a null byte in a header": "X: a\x00b\r\n\r\n" + inner,
	} {
		_, reader := r.raw("POST /api/v1/namespaces/shop/pods HTTP/1.1\r\nHost: a.example\r\n"+text, ca.pair("ann"))
		require.Contains(t, []int{0, 400, 408, 501, 502}, status(t, reader), name)
		require.Zero(t, status(t, reader), "%s: the connection is closed, and what follows is not read", name)
	}
	require.Zero(t, server.total())

	// HTTP says what this means: the chunks count.
	_, reader := r.raw("POST /api/v1/namespaces/shop/pods HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"5\r\nhello\r\n0\r\n\r\n", ca.pair("ann"))
	require.Equal(t, 200, status(t, reader))
	require.EqualValues(t, 5, server.request().Body)
}

// TestPathsAreForwardedAsSent checks that the gateway and the API server judge the same path.
func TestPathsAreForwardedAsSent(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	for _, path := range []string{
		"/api/v1/namespaces/shop/pods/../../../secrets", "/api/v1/namespaces/shop/pods/%2e%2e/secrets", "//api/v1/secrets",
		"/api/v1/namespaces/shop%2fpods", "/api/v1/namespaces/shop/services/web/proxy/a%2Fb?x=%20y",
	} {
		_, reader := r.raw("GET "+path+" HTTP/1.1\r\nHost: a.example\r\n\r\n", ca.pair("ann"))
		require.Equal(t, 200, status(t, reader), path)
		require.Equal(t, path, server.request().URI)
	}
}

func TestAbsoluteURLsSelectTheirCluster(t *testing.T) {
	t.Parallel()
	caA, caB := newAuthority(t), newAuthority(t)
	a, b := newAPIServer(t, caA), newAPIServer(t, caB)
	r := newRig(t, nil)
	r.serve(cluster("a.example", caA, a))
	r.serve(cluster("b.example", caB, b))
	_, reader := r.raw("GET https://b.example/version HTTP/1.1\r\nHost: a.example\r\n\r\n", caA.pair("ann"))
	require.Equal(t, 401, status(t, reader), "a certificate of a is none for b")
	require.Zero(t, a.total()+b.total())
}

// TestAConnectionIsVerifiedForEachCluster changes the host name on one connection.
func TestAConnectionIsVerifiedForEachCluster(t *testing.T) {
	t.Parallel()
	caA, caB := newAuthority(t), newAuthority(t)
	a, b := newAPIServer(t, caA), newAPIServer(t, caB)
	r := newRig(t, nil)
	r.serve(cluster("a.example", caA, a))
	r.serve(cluster("b.example", caB, b))
	const ask = "GET /version HTTP/1.1\r\nHost: "
	_, reader := r.raw(ask+"a.example\r\n\r\n"+ask+"b.example\r\n\r\n"+ask+"a.example\r\n\r\n", caA.pair("ann"))
	require.Equal(t, 200, status(t, reader))
	require.Equal(t, 401, status(t, reader))
	require.Equal(t, 200, status(t, reader))
	require.Equal(t, [2]int{2, 0}, [2]int{a.total(), b.total()})
}

func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	_, reader := r.raw("GET /version HTTP/1.1\r\nHost: a.example\r\nX: "+strings.Repeat("x", 80<<10)+"\r\n\r\n", ca.pair("ann"))
	require.Contains(t, []int{0, http.StatusRequestHeaderFieldsTooLarge}, status(t, reader))
	headers := []string{"Impersonate-User", "bob"}
	for range 200 {
		headers = append(headers, "Impersonate-Group", "g")
	}
	require.Equal(t, 400, r.ask(r.client("a.example", ca.pair("ann")), http.MethodGet, pods, headers...).code)
	require.Zero(t, server.total())
	require.Zero(t, server.reviewed(), "nothing is asked for such a request")
}

func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	r, _, ca, client := one(t, func(o *gateway.Options) {
		o.Timeouts = gateway.Timeouts{Header: 100 * time.Millisecond, Body: 100 * time.Millisecond}
	})
	_, reader := r.raw("GET /version HTTP/1.1\r\nHost: a.exa", ca.pair("ann"))
	require.Contains(t, []int{0, http.StatusRequestTimeout}, status(t, reader), "no header")
	_, reader = r.raw("POST /api/v1/namespaces/shop/pods HTTP/1.1\r\nHost: a.example\r\nContent-Length: 10\r\n\r\n{", ca.pair("ann"))
	require.Contains(t, []int{0, http.StatusRequestTimeout}, status(t, reader), "no body")
	await.NoError(t, func() error { return r.try(client, pods) }, "a handshake in time")
	watch := r.watch(client, pods+"?watch=true")
	defer watch.close()
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code)
}

// TestConnectionsWithoutARequestGiveWay opens more connections than the gateway accepts, which send nothing or half a header.
func TestConnectionsWithoutARequestGiveWay(t *testing.T) {
	t.Parallel()
	r, _, ca, client := one(t, func(o *gateway.Options) { o.Connections = 8 })
	for i := range 40 {
		text := ""
		if i%2 == 0 {
			text = "GET /version HTTP/1.1\r\nHost: a.exa"
		}
		r.raw(text, ca.pair("ann"))
	}
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code)
}

// TestTokensDoNotLeakBetweenClustersAndUsers asks with tokens that resemble a cached one.
func TestTokensDoNotLeakBetweenClustersAndUsers(t *testing.T) {
	t.Parallel()
	r, server, _, _ := one(t, nil)
	server.change(func() { server.users["good"] = "bob" })
	client := r.client("a.example")
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods, "Authorization", "Bearer good").code)
	for _, token := range []string{"goo", "good2", "GOOD", "good,good", "good good", "good\x01"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, http.NoBody)
		require.NoError(t, err)
		request.Header["Authorization"] = []string{"Bearer " + token}
		response, err := client.Do(request)
		if err != nil {
			continue // the client refuses to send it
		}
		_ = response.Body.Close()
		if token != "good good" { // the first word is the token, as for an API server
			require.Equal(t, 401, response.StatusCode, token)
		}
	}
	require.Equal(t, 401, r.ask(client, http.MethodGet, pods, "X-Authorization", "Bearer good").code)
	require.Equal(t, 401, r.ask(client, http.MethodGet, pods+"?access_token=good").code)
}

func TestOldProtocolsOfTLSAreRefused(t *testing.T) {
	t.Parallel()
	r, _, _, _ := one(t, nil)
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10, VerifyConnection: func(tls.ConnectionState) error { return nil }}}
	_, err := dialer.DialContext(t.Context(), "tcp", r.address)
	require.Error(t, err)
}

// TestWatchesLeaveNothingBehind opens and closes many watches.
func TestWatchesLeaveNothingBehind(t *testing.T) {
	r, _, ca, _ := one(t, nil)
	client := r.client("a.example", ca.pair("ann"))
	r.watch(client, pods+"?watch=true").close()
	before := runtime.NumGoroutine()
	for range 500 {
		r.watch(client, pods+"?watch=true").close()
	}
	await.True(t, func() bool {
		return r.gateway.Clusters().Endpoints("a.example")[0].Streams == 0 && runtime.NumGoroutine() <= before+20
	}, "no stream and no goroutine more than before")
}
