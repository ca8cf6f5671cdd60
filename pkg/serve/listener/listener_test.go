package listener_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/listener"
	"github.com/netloom/netloom/test/await"
)

// small are limits that a test reaches.
func small() listener.Limits { return listener.Limits{Connections: 8, PerAddress: 4, Reserve: 2} }

// rig is a server on an address that is not a loopback one for its limits, and what it says.
type rig struct {
	t       *testing.T
	address string
	logs    *test.Hook
	busy    atomic.Int32  // requests in progress that wait
	finish  chan struct{} // ends them
}

// anywhere makes a listener on a loopback address look as if others could reach it.
type anywhere struct{ net.Listener }

func (a anywhere) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4zero, Port: a.Listener.Addr().(*net.TCPAddr).Port}
}

func serve(t *testing.T, limits listener.Limits) *rig {
	t.Helper()
	log, logs := test.NewNullLogger()
	r := &rig{t: t, logs: logs, finish: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ok") })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r2 *http.Request) {
		_, _ = io.Copy(io.Discard, r2.Body)
		r.busy.Add(1)
		defer r.busy.Add(-1)
		<-r.finish
		_, _ = fmt.Fprint(w, "done")
	})
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.address = inner.Addr().String()
	server := listener.New(listener.Options{Handler: mux, Log: log, Limits: limits, Header: time.Hour, Idle: time.Hour})
	ended := make(chan error, 1)
	go func() { ended <- server.ServeOn(anywhere{inner}) }()
	t.Cleanup(func() {
		select {
		case <-r.finish:
		default:
			close(r.finish)
		}
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return r
}

// dial connects from an address of the loopback network.
func (r *rig) dial(from string) net.Conn {
	r.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(r.t.Context(), "tcp", r.address)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a request and returns what comes back; "" if the connection ends without a response.
func (r *rig) ask(c net.Conn, path string) string {
	r.t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		return ""
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return string(text)
}

// ended waits until a connection that nothing was asked on has been closed.
func (r *rig) ended(c net.Conn) {
	r.t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.Error(r.t, err)
}

// endless sends the beginning of a header that does not end.
func endless(c net.Conn) { _, _ = fmt.Fprint(c, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 4096)) }

// TestHeadersThatDoNotEndKeepNobodyOut opens more and more connections from one address: another one and the address itself get through,
// and the server never has more than its share.
func TestHeadersThatDoNotEndKeepNobodyOut(t *testing.T) {
	r := serve(t, small())
	var slow []net.Conn
	for range 40 {
		c := r.dial("127.0.0.2")
		endless(c)
		slow = append(slow, c)
	}
	for _, c := range slow[:36] {
		r.ended(c)
	}
	require.Equal(t, "ok", r.ask(r.dial("127.0.0.3"), "/healthz"))
	require.Equal(t, "ok", r.ask(r.dial("127.0.0.2"), "/healthz"))
	require.Len(t, r.logs.AllEntries(), 1, "once a minute")
	require.Contains(t, r.logs.LastEntry().Message, "too many connections")
}

// TestManyAddressesKeepNobodyOut has more addresses with a connection each than there may be connections.
func TestManyAddressesKeepNobodyOut(t *testing.T) {
	r := serve(t, small())
	var slow []net.Conn
	for i := range 30 {
		c := r.dial(fmt.Sprintf("127.0.1.%d", i+1))
		endless(c)
		slow = append(slow, c)
	}
	for _, c := range slow[:22] {
		r.ended(c)
	}
	require.Equal(t, "ok", r.ask(r.dial("127.0.0.3"), "/healthz"))
}

// TestRequestsInProgressAreNotCutOff fills all places with requests: what is new is refused, but for addresses that have no connection,
// which share a reserve.
func TestRequestsInProgressAreNotCutOff(t *testing.T) {
	r := serve(t, small())
	answers := make(chan string, 8)
	for i := range 8 {
		c := r.dial(fmt.Sprintf("127.0.2.%d", 1+i/4))
		go func() { answers <- r.ask(c, "/wait") }()
	}
	await.True(t, func() bool { return r.busy.Load() == 8 }, "all requests are in progress")
	r.ended(r.dial("127.0.2.1"))
	require.Equal(t, "ok", r.ask(r.dial("127.0.0.3"), "/healthz"), "from the reserve")
	endless(r.dial("127.0.0.4"))
	require.Equal(t, "ok", r.ask(r.dial("127.0.0.5"), "/healthz"))
	close(r.finish)
	for range 8 {
		require.Equal(t, "done", <-answers)
	}
}

// TestAConnectionThatIsUsedStays asks again and again on one connection while others come and go.
func TestAConnectionThatIsUsedStays(t *testing.T) {
	r := serve(t, small())
	c := r.dial("127.0.0.9")
	for i := range 50 {
		require.Equal(t, "ok", r.ask(c, "/healthz"))
		require.Equal(t, "ok", r.ask(r.dial(fmt.Sprintf("127.0.3.%d", 1+i)), "/healthz"))
	}
}

func TestALongHeaderIsRefused(t *testing.T) {
	r := serve(t, listener.Limits{})
	c := r.dial("127.0.0.2")
	_, err := fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 16<<10))
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
}
