package daemon_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/serve/listener"
)

// send opens a connection from an address that is not that of get, and sends a text.
func (s *served) send(address, text string) net.Conn {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := dialer.DialContext(s.Context(), "tcp", address)
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
