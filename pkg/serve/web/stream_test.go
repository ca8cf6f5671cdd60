package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/web"
)

// stream is what a client of the events has got so far.
type stream struct {
	mu     sync.Mutex
	text   strings.Builder
	header http.Header
	code   int
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(code int) { s.code = code }

func (s *stream) Flush() {}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// open opens a stream, which its function ends.
func (s *server) open(t *testing.T, last string) (*stream, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", http.NoBody)
	r.Header.Set("Last-Event-ID", last)
	w := &stream{header: http.Header{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeHTTP(w, r)
	}()
	synctest.Wait()
	return w, func() { cancel(); <-done }
}

func eventOf(kind web.EventKind, text string) web.Event {
	return web.Event{At: moment, Kind: kind, Revision: 7, Text: text}
}

func TestEventsAreStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(&source{})
		s.feed.Add(eventOf(web.SnapshotPublished, "before"))
		w, end := s.open(t, "")
		defer end()
		require.Equal(t, "text/event-stream", w.header.Get("Content-Type"))
		id := s.feed.Epoch() + "-"
		require.Equal(t, "retry: 2000\n\nid: "+id+"1\nevent: snapshot\n"+
			`data: {"id":1,"at":"2025-03-01T12:00:00Z","kind":"snapshot","revision":7,"text":"before"}`+"\n\n", w.String())
		s.feed.Add(eventOf(web.ProblemAppeared, "one"))
		s.feed.Add(eventOf(web.ProblemCleared, "two"))
		synctest.Wait()
		require.NotContains(t, w.String(), "one", "batches have a pause between them")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, w.String(), "event: problem\n")
		require.Contains(t, w.String(), "event: problem-cleared\n")
		require.NotContains(t, w.String(), ": keepalive")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, w.String(), ": keepalive\n\n", "a stream shows that it lives")
	})
}

func TestABrokenStreamGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(&source{})
		for _, text := range []string{"one", "two", "three"} {
			s.feed.Add(eventOf(web.PlanApplied, text))
		}
		w, end := s.open(t, s.feed.Epoch()+"-2")
		require.NotContains(t, w.String(), `"two"`)
		require.Contains(t, w.String(), `"three"`)
		end()
		for _, last := range []string{"otherprocess-2", "nonsense", s.feed.Epoch() + "-x"} {
			w, end = s.open(t, last)
			require.Contains(t, w.String(), `"one"`, "a client of another process gets everything")
			end()
		}
	})
}

func TestTheFeedForgets(t *testing.T) {
	f := web.NewFeed(moment)
	for range 1000 {
		f.Add(eventOf(web.SnapshotPublished, "x"))
	}
	list, more := f.After(0)
	require.LessOrEqual(t, len(list), 256)
	require.Greater(t, len(list), 100)
	require.Equal(t, uint64(1000), list[len(list)-1].ID)
	list, _ = f.After(998)
	require.Len(t, list, 2)
	list, _ = f.After(1000)
	require.Empty(t, list)
	f.Add(eventOf(web.SnapshotPublished, "x"))
	<-more
}

func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(&source{})
		var ends []func()
		for range 32 {
			_, end := s.open(t, "")
			ends = append(ends, end)
		}
		w, end := s.open(t, "")
		end()
		require.Equal(t, http.StatusServiceUnavailable, w.code)
		for _, end := range ends {
			end()
		}
		w, end = s.open(t, "")
		defer end()
		require.Contains(t, w.String(), "retry")
	})
}
