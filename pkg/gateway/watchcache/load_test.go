package watchcache_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/test/await"
)

// server is a cache behind HTTP/2, and a client of it.
type server struct {
	testing.TB
	api    *api
	cache  *watchcache.Cache
	client *transport.Transport
}

func newServer(tb testing.TB) *server {
	log := logrus.New()
	log.SetOutput(io.Discard)
	s := &server{TB: tb, api: newAPI()}
	var err error
	s.cache, err = watchcache.New(watchcache.Config{Upstream: s.api, Authorizer: authorize(allow), Log: log})
	require.NoError(tb, err)
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: "jane"}))
		if !s.cache.Serve(w, r) {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	h.EnableHTTP2 = true
	h.StartTLS()
	u, err := url.Parse(h.URL)
	require.NoError(tb, err)
	s.client, err = transport.New(u, transport.Config{Insecure: true})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		s.client.Close()
		s.cache.Close()
		h.Close()
	})
	return s
}

// watch opens a watch without initial events and calls got for everything that arrives, until ctx ends.
func (s *server) watch(ctx context.Context, q url.Values, got func([]byte)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://gateway/api/v1/pods?"+q.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := s.client.RoundTrip(req) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", resp.Status)
	}
	go func() {
		defer func() { _ = resp.Body.Close() }()
		for b := make([]byte, 4<<10); ; {
			n, err := resp.Body.Read(b)
			if err != nil {
				return
			}
			got(b[:n])
		}
	}()
	return nil
}

// watchMany opens n watches.
func (s *server) watchMany(ctx context.Context, n int, q func(i int) url.Values, got func([]byte)) {
	errs := make(chan error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if err := s.watch(ctx, q(i), got); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(s, err)
	}
	await.True(s.TB, func() bool { return s.cache.Stats().Kinds[0].Watches == n }, "%d watches", n)
}

func fromNow(s *server) func(int) url.Values {
	version := fmt.Sprint(s.api.now())
	return func(int) url.Values { return url.Values{"watch": {"1"}, "resourceVersion": {version}} }
}

// TestWatchesLeaveNothing opens and closes 10,000 watches over HTTP/2.
func TestWatchesLeaveNothing(t *testing.T) {
	const rounds, n = 10, 1000
	s := newServer(t)
	open := func(n int) {
		ctx, cancel := context.WithCancel(t.Context())
		s.watchMany(ctx, n, fromNow(s), func([]byte) {})
		cancel()
		await.True(t, func() bool { return s.cache.Stats().Kinds[0].Watches == 0 }, "the end of all watches")
	}
	open(1) // starts what stays
	await.True(t, func() bool { return s.cache.Stats().Kinds[0].UpstreamWatches == 1 }, "the upstream watch")
	s.client.CloseIdleConnections()
	before := runtime.NumGoroutine()
	for range rounds {
		open(n)
	}
	require.Equal(t, uint64(rounds*n+1), s.cache.Stats().Watches)
	s.client.CloseIdleConnections()
	await.True(t, func() bool { return runtime.NumGoroutine() <= before }, "goroutines before: %d", before)
	require.Equal(t, 1, s.api.opened)
}

// BenchmarkEvent is the time from a change in the upstream until 3,000 clients have it over HTTP/2, on the same machine.
// "one node" is the time until the only client of the object's node has it, when each client watches one of 3,000 nodes.
func BenchmarkEvent(b *testing.B) {
	const n = 3000
	nodes := func(i int) url.Values {
		return url.Values{"watch": {"1"}, "fieldSelector": {fmt.Sprint("spec.nodeName=n", i)}, "resourceVersion": {"100"}}
	}
	for name, q := range map[string]func(*server) func(int) url.Values{
		"3000 watches": fromNow,
		"3000 nodes":   func(*server) func(int) url.Values { return nodes },
	} {
		b.Run(name, func(b *testing.B) {
			s := newServer(b)
			var arrived atomic.Int64
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s.watchMany(b.Context(), n, q(s), func(chunk []byte) { arrived.Add(int64(strings.Count(string(chunk), "\n"))) })
			runtime.GC()
			runtime.ReadMemStats(&after)
			want := int64(0)
			b.ResetTimer()
			for i := range b.N {
				s.api.forget()
				want += n
				if name == "3000 nodes" {
					want += 1 - n
				}
				s.api.write(change{ns: "a", key: fmt.Sprint("p", i), app: "web", node: fmt.Sprint("n", i%n)})
				for arrived.Load() < want {
					runtime.Gosched()
				}
			}
			b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/n/1024, "KiB/watch")
		})
	}
}

// BenchmarkDispatch is the same without HTTP: what the cache itself costs.
func BenchmarkDispatch(b *testing.B) {
	const n = 3000
	s := newServer(b)
	var arrived atomic.Int64
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		ctx := request.WithUser(b.Context(), &user.DefaultInfo{Name: "jane"})
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?watch=1&resourceVersion=100", http.NoBody)
		go s.cache.Serve(&counter{arrived: &arrived}, r)
	}
	for s.cache.Stats().Kinds[0].Watches < n {
		runtime.Gosched()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	want := int64(0)
	b.ResetTimer()
	for i := range b.N {
		s.api.forget()
		want += n
		s.api.write(change{ns: "a", key: fmt.Sprint("p", i), app: "web", node: "n"})
		for arrived.Load() < want {
			runtime.Gosched()
		}
	}
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/n/1024, "KiB/watch")
}

// counter is a ResponseWriter that counts events.
type counter struct {
	header  http.Header
	arrived *atomic.Int64
}

func (c *counter) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}
func (c *counter) WriteHeader(int)                  {}
func (c *counter) Flush()                           {}
func (c *counter) SetWriteDeadline(time.Time) error { return nil }
func (c *counter) Write(b []byte) (int, error) {
	if b[len(b)-1] == '\n' {
		c.arrived.Add(1)
	}
	return len(b), nil
}
