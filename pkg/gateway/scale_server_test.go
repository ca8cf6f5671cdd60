package gateway_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// standIn is an API server for measurements: it answers a GET with 1 KiB, and keeps watches open.
type standIn struct {
	*httptest.Server
	opened, live, watches atomic.Int64
	slow                  atomic.Int64  // time to an answer
	hung                  chan struct{} // closed when requests and checks hang
	event                 atomic.Pointer[chan struct{}]
}

// streamsOfServer is how many requests an API server serves on one connection by default.
const streamsOfServer = 100

func newStandIn(t *testing.T, pair tls.Certificate) *standIn {
	t.Helper()
	s := &standIn{hung: make(chan struct{})}
	event := make(chan struct{})
	s.event.Store(&event)
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streamsOfServer}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.opened.Add(1)
			s.live.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.live.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// kilobyte is an object.
var kilobyte = []byte(strings.Repeat("x", 1<<10)) //nolint:gochecknoglobals // it is constant

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.hung:
		<-r.Context().Done()
		return
	default:
	}
	if d := s.slow.Load(); d > 0 {
		select {
		case <-time.After(time.Duration(d)): // pause: it stands for work
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		_, _ = w.Write(kilobyte)
		return
	}
	s.watches.Add(1)
	defer s.watches.Add(-1)
	for {
		next := *s.event.Load()
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-next:
			_, _ = w.Write(kilobyte)
		case <-r.Context().Done():
			return
		}
	}
}
