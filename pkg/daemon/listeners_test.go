package daemon_test

import (
	"crypto/tls"
	"encoding/binary"
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

// TestEveryListenerIsBounded opens more connections to each listener of a daemon than it accepts, on which clients do what costs nothing:
// it answers another address nevertheless, and has no more connections than it may.
func TestEveryListenerIsBounded(t *testing.T) {
	const more = 40
	for _, tc := range []struct{ name, text string }{
		{"nothing", ""},
		{"half a header", "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 4000)},
		{"one request, and then nothing", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		{"the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"a body that does not come", "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx"},
		{"streams of events that are not read", "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"},
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

// TestStreamsOfAConnectionAreBounded reads how many requests a listener accepts at once on a connection of HTTP/2, which needs TLS.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	s := startServed(t, func(o *daemon.Options) { o.Serving.TLS = true })
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}}
	c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.health, "https://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0} // an empty frame of them
	_, err = fmt.Fprint(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", string(settings))
	require.NoError(t, err)
	header := make([]byte, 9)
	_, err = io.ReadFull(c, header)
	require.NoError(t, err)
	require.Equal(t, settings[3], header[3], "the first frame has the settings")
	payload := make([]byte, header[2])
	_, err = io.ReadFull(c, payload)
	require.NoError(t, err)
	const mostStreams = 3 // SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113, 6.5.2
	var streams uint32
	for ; len(payload) >= 6; payload = payload[6:] {
		if binary.BigEndian.Uint16(payload) == mostStreams {
			streams = binary.BigEndian.Uint32(payload[2:])
		}
	}
	require.Equal(t, uint32(32), streams)
}

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
