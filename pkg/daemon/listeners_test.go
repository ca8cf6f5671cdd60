package daemon_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/serve/listener"
)

// TestEveryListenerIsBounded opens more connections to each address of a daemon than it accepts, on which clients do what costs nothing:
// it answers others nevertheless, and has no more connections than it may.
func TestEveryListenerIsBounded(t *testing.T) {
	const more = 40
	for _, tc := range []struct{ name, text string }{
		{"nothing", ""},
		{"half a header", "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 4000)},
		{"one request, and then nothing", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		{"the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := startServed(t, func(o *daemon.Options) { o.UIListen = "127.0.0.1:0" })
			for _, url := range []string{s.health, s.debug, s.page} {
				address := strings.TrimPrefix(url, "http://")
				ended := make(chan error, listener.Small().Connections+more)
				for range cap(ended) {
					c := s.send(address, tc.text)
					go func() {
						_, err := io.Copy(io.Discard, c) // until the server closes it, or the test ends
						ended <- err
					}()
				}
				for range more {
					<-ended
				}
				require.NotZero(t, s.get(url+"/healthz", ""), url)
			}
		})
	}
}

// send opens a connection and sends a text.
func (s *served) send(address, text string) net.Conn {
	s.Helper()
	c, err := new(net.Dialer).DialContext(s.Context(), "tcp", address)
	require.NoError(s, err)
	s.Cleanup(func() { _ = c.Close() })
	_, _ = fmt.Fprint(c, text) // it may be closed already
	return c
}

// TestStreamsThatAreNotReadKeepNoProbeOut fills the address of the web page with streams of events: the one of health is another.
func TestStreamsThatAreNotReadKeepNoProbeOut(t *testing.T) {
	s := startServed(t, func(o *daemon.Options) { o.UIListen = "127.0.0.1:0" })
	page := strings.TrimPrefix(s.page, "http://")
	for range listener.Small().Connections + 40 {
		s.send(page, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	require.Equal(t, http.StatusOK, s.get(s.health+"/healthz", ""))
}
