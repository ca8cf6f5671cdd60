package transport_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/netloom/netloom/pkg/gateway/transport"
)

// frames is a server of HTTP/2 that answers each request with frames of its own.
type frames struct {
	net.Listener
	requests atomic.Int64
	// answer is called with each request, after its body has arrived. The connection ends if it returns false.
	answer func(to *http2.Framer, stream uint32) bool
}

// newFrames starts a server until the test ends, and returns a transport to it.
func newFrames(t *testing.T, answer func(to *http2.Framer, stream uint32) bool) (*frames, *transport.Transport) {
	t.Helper()
	pair, err := tls.X509KeyPair(certificate(t, "server"))
	require.NoError(t, err)
	on, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{http2.NextProtoTLS}, MinVersion: tls.VersionTLS12,
	})
	require.NoError(t, err)
	f := &frames{Listener: on, answer: answer}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := on.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	tr, err := transport.New(&url.URL{Scheme: "https", Host: on.Addr().String()}, transport.Config{Insecure: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		tr.Close()
		_ = on.Close()
		<-done
	})
	return f, tr
}

func (f *frames) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // it is a test's
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	if framer.WriteSettings() != nil {
		return
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.PingFrame:
			if !frame.IsAck() {
				_ = framer.WritePing(true, frame.Data)
			}
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				f.requests.Add(1)
				if !f.answer(framer, frame.StreamID) {
					return
				}
			}
		}
	}
}

// TestWhatIsKnownOfRequests has a server say, in every way that HTTP/2 has, what became of a request. All requests are POSTs whose
// body can be sent again, so that nothing but the server's word keeps them from being sent twice.
func TestWhatIsKnownOfRequests(t *testing.T) {
	reset := func(code http2.ErrCode) func(to *http2.Framer, stream uint32) bool {
		return func(to *http2.Framer, stream uint32) bool { return to.WriteRSTStream(stream, code) == nil }
	}
	goAway := func(below uint32, code http2.ErrCode) func(to *http2.Framer, stream uint32) bool {
		return func(to *http2.Framer, stream uint32) bool {
			return to.WriteGoAway(stream-below, code, nil) == nil && below > 0
		}
	}
	for name, of := range map[string]struct {
		answer    func(to *http2.Framer, stream uint32) bool
		processed string
	}{
		"GOAWAY before it":                    {goAway(1, http2.ErrCodeNo), "no"},
		"GOAWAY after it, and the end":        {goAway(0, http2.ErrCodeNo), "perhaps"},
		"GOAWAY after it, with a fault":       {goAway(0, http2.ErrCodeInternal), "perhaps"},
		"REFUSED_STREAM":                      {reset(http2.ErrCodeRefusedStream), "no"},
		"PROTOCOL_ERROR":                      {reset(http2.ErrCodeProtocol), "perhaps"},
		"INTERNAL_ERROR":                      {reset(http2.ErrCodeInternal), "perhaps"},
		"CANCEL":                              {reset(http2.ErrCodeCancel), "perhaps"},
		"NO_ERROR":                            {reset(http2.ErrCodeNo), "perhaps"},
		"the end of the connection":           {func(*http2.Framer, uint32) bool { return false }, "perhaps"},
		"frames that are none, and then none": {func(to *http2.Framer, _ uint32) bool { return to.WriteRawFrame(0xff, 0, 0, nil) != nil }, "perhaps"},
	} {
		t.Run(name, func(t *testing.T) {
			f, tr := newFrames(t, of.answer)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://anything.invalid/", strings.NewReader("text"))
			require.NoError(t, err)
			_, err = tr.RoundTrip(r) //nolint:bodyclose // there is no response
			require.Error(t, err)
			var not *transport.NotProcessedError
			if of.processed == "no" {
				require.ErrorAs(t, err, &not)
				require.True(t, not.Connected)
			} else {
				require.NotErrorAs(t, err, &not)
			}
			require.EqualValues(t, 1, f.requests.Load(), "the transport itself sends nothing twice")
		})
	}
	t.Run("no connection", func(t *testing.T) {
		f, tr := newFrames(t, nil)
		require.NoError(t, f.Close())
		_, err := send(tr, t.Context(), "/") //nolint:bodyclose // there is no response
		var not *transport.NotProcessedError
		require.ErrorAs(t, err, &not)
		require.False(t, not.Connected)
		var refused *net.OpError
		require.ErrorAs(t, err, &refused)
	})
}
