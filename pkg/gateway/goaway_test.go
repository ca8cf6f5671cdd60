package gateway_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// forgetful is an API server that says of each write the first time that it did not process it: the connection ends with GOAWAY, whose
// last stream is the one before.
type forgetful struct {
	net.Listener
	mu        sync.Mutex
	asked     map[string]int // by the path of a write
	processed map[string]string
}

func newForgetful(t *testing.T, a *authority) *forgetful {
	t.Helper()
	pair, err := tls.X509KeyPair(a.issue("server", nil))
	require.NoError(t, err)
	on, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{http2.NextProtoTLS}, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	f := &forgetful{Listener: on, asked: map[string]int{}, processed: map[string]string{}}
	t.Cleanup(func() { _ = on.Close() })
	go func() {
		for {
			conn, err := on.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

// serve serves a connection until the client has closed it.
func (f *forgetful) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // it is a test's
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	to := http2.NewFramer(conn, conn)
	to.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = to.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 24})
	_ = to.WriteWindowUpdate(0, 1<<24)
	paths, bodies := map[uint32]string{}, map[uint32]*bytes.Buffer{}
	for {
		frame, err := to.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.PingFrame:
			if !frame.IsAck() {
				_ = to.WritePing(true, frame.Data)
			}
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = to.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			paths[frame.StreamID], bodies[frame.StreamID] = frame.PseudoValue("path"), &bytes.Buffer{}
			if frame.StreamEnded() {
				answerFrame(to, frame.StreamID)
			}
		case *http2.DataFrame:
			bodies[frame.StreamID].Write(frame.Data())
			if frame.StreamEnded() {
				f.write(to, frame.StreamID, paths[frame.StreamID], bodies[frame.StreamID].String())
			}
		}
	}
}

func (f *forgetful) write(to *http2.Framer, stream uint32, path, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[path]++
	if f.asked[path] == 1 {
		_ = to.WriteGoAway(max(stream, 2)-2, http2.ErrCodeNo, nil)
		return
	}
	f.processed[path] += body
	answerFrame(to, stream)
}

// answerFrame answers with 200.
func answerFrame(to *http2.Framer, stream uint32) {
	var header bytes.Buffer
	_ = hpack.NewEncoder(&header).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = to.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header.Bytes(), EndHeaders: true, EndStream: true})
}

// unsized hides how long a body is.
type unsized struct{ io.Reader }

// TestWritesSurviveGoAway has an API server that ends connections before it processes writes on them: small ones are sent again, for as
// long as the memory for copies lasts, and of others the client learns that it may send them again.
func TestWritesSurviveGoAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ca := newAuthority(t)
	server := newForgetful(t, ca)
	o := cluster("a.example", ca)
	o.Spec.Servers = []v1alpha1.UpstreamClusterServer{{Endpoint: "https://" + server.Addr().String()}}
	r.serve(o)
	client := r.client("a.example", ca.pair("ann"))
	n := 0
	send := func(method string, body io.Reader) (answer, string) {
		n++
		path := fmt.Sprintf("/api/v1/namespaces/shop/pods/%d", n)
		return r.send(client, method, "https://a.example"+path, body), path
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for name, body := range map[string]func(text string) io.Reader{
			"of a known length":    func(text string) io.Reader { return strings.NewReader(text) },
			"of an unknown length": func(text string) io.Reader { return unsized{strings.NewReader(text)} },
		} {
			for range 20 { // together more than the memory for the copies of a connection
				text := strings.Repeat("x", 60_000)
				got, path := send(method, body(text))
				require.Equal(t, http.StatusOK, got.code, "%s with a body %s: %s", method, name, got.body)
				require.Equal(t, 2, server.asked[path])
				require.Equal(t, text, server.processed[path])
			}
		}
	}
	got, path := send(http.MethodPost, strings.NewReader(strings.Repeat("x", 1<<20)))
	require.Equal(t, http.StatusOK, got.code, "as much as there is memory for: %s", got.body)
	require.Equal(t, 2, server.asked[path])
	for name, body := range map[string]io.Reader{
		"a large body": strings.NewReader(strings.Repeat("x", 1<<20+1)), "a large body of an unknown length": unsized{strings.NewReader(strings.Repeat("x", 1<<17))},
	} {
		got, path := send(http.MethodPost, body)
		require.Equal(t, http.StatusServiceUnavailable, got.code, name)
		require.Equal(t, "1", got.header.Get("Retry-After"))
		require.Contains(t, got.body, "did not process the request")
		require.Equal(t, 1, server.asked[path])
		require.Empty(t, server.processed[path])
	}
}
