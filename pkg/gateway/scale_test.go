package gateway_test

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/test/await"
)

// The size of TestManyClusters. The small default is for its counts; `make bench-gateway` sets the published one.
var (
	scaleClusters = flag.Int("scale.clusters", 6, "clusters of TestManyClusters, 6 at least")
	scaleWatches  = flag.Int("scale.watches", 240, "watches of all clusters together")
	scaleRate     = flag.Int("scale.rate", 100, "requests per second, as many again directly")
	scaleSeconds  = flag.Float64("scale.seconds", 0.5, "for each measurement")
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

// scale is a gateway in front of many clusters, and clients of both.
type scale struct {
	*rig
	ca      *authority
	servers []*standIn
	direct  []*transport.Transport // a client of each server
	through []*transport.Transport // a client of the gateway for each cluster
}

func (s *scale) name(i int) string { return fmt.Sprintf("c%02d.example", i) }

func newScale(t *testing.T) *scale {
	t.Helper()
	s := &scale{ca: newAuthority(t)}
	s.rig = newRig(t, func(o *gateway.Options) {
		o.Connections = 1 << 14
		o.Probe = upstream.Probe{Timeout: time.Hour, Silence: time.Hour} // what is counted does not depend on time
		if *scaleWatches >= 1000 {
			o.Probe = upstream.Probe{}
		}
		if testing.Verbose() {
			o.Log = logrus.New()
		}
	})
	pair, err := tls.X509KeyPair(s.ca.issue("server", nil))
	require.NoError(t, err)
	for range *scaleClusters {
		s.servers = append(s.servers, newStandIn(t, pair))
	}
	for i, server := range s.servers {
		o := cluster(s.name(i), s.ca, &apiServer{Server: server.Server})
		require.NoError(t, s.gateway.Clusters().Put(o))
	}
	for i := range s.servers {
		await.True(t, func() bool { return s.gateway.Clusters().Endpoints(s.name(i))[0].Ready }, "%s is ready", s.name(i))
		s.direct = append(s.direct, s.connect(i, true))
		s.through = append(s.through, s.connect(i, false))
	}
	return s
}

// connect returns a client with a connection of its own.
func (s *scale) connect(i int, directly bool) *transport.Transport {
	s.t.Helper()
	cert, key := s.ca.issue(fmt.Sprint("user-", i), nil)
	config := transport.Config{CA: s.ca.pem(), Cert: cert, Key: key, PingAfter: time.Hour}
	endpoint := s.servers[i].URL
	if !directly {
		endpoint, config.CA = "https://"+s.name(i), s.serving.pem()
		config.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.address)
		}
	}
	at, err := url.Parse(endpoint)
	require.NoError(s.t, err)
	c, err := transport.New(at, config)
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

// request sends a GET for an object, or a watch, and returns the open answer.
func (s *scale) request(ctx context.Context, through http.RoundTripper, i int, query string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.name(i)+"/api/v1/namespaces/default/pods"+query, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := through.RoundTrip(request)
	if err == nil && response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		err = fmt.Errorf("%s: %s", s.name(i), response.Status)
	}
	return response, err
}

// get reads an object.
func (s *scale) get(ctx context.Context, through http.RoundTripper, i int) error {
	response, err := s.request(ctx, through, i, "/p")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// crowd are open watches. bytes are what the whole process has grown by.
type crowd struct {
	cancel  context.CancelFunc
	readers sync.WaitGroup
	bytes   int64
}

func (c *crowd) close() {
	c.cancel()
	c.readers.Wait()
}

// watch opens all watches, 40 for each client, directly or through the gateway.
func (s *scale) watch(directly bool) *crowd {
	s.t.Helper()
	before := inUse()
	ctx, cancel := context.WithCancel(s.t.Context())
	c := &crowd{cancel: cancel}
	var opening sync.WaitGroup
	failed := make(chan error, *scaleWatches)
	var client *transport.Transport
	for n := range *scaleWatches {
		i := n / 40 % len(s.servers)
		if n%40 == 0 {
			client = s.connect(i, directly)
		}
		through := client
		open := opening.Go
		if n%40 == 0 {
			open = func(f func()) { f() } // clients connect one after the other
		}
		open(func() {
			response, err := s.request(ctx, through, i, "?watch=1")
			if err != nil {
				failed <- err
				return
			}
			c.readers.Go(func() {
				defer func() { _ = response.Body.Close() }()
				_, _ = io.Copy(io.Discard, response.Body)
			})
		})
	}
	opening.Wait()
	close(failed)
	for err := range failed {
		require.NoError(s.t, err)
	}
	c.bytes = inUse() - before
	return c
}

// inUse is the memory of objects and stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// measured are the durations of requests, in order, and how many failed.
type measured struct {
	direct, through []time.Duration
	failed          atomic.Int64
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

// load sends requests at a rate, in turn to all clusters, each time directly and through the gateway, so that both have the same load
// beside them. Latencies are from the time when a request was due. Those to the clusters that skip says do not count.
func (s *scale) load(rate int, seconds float64, skip func(i int) bool) *measured {
	s.t.Helper()
	m := &measured{}
	var mu sync.Mutex
	var requests sync.WaitGroup
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(seconds*float64(time.Second))+time.Minute)
	defer cancel()
	every := time.Second / time.Duration(2*rate)
	began := time.Now()
	for n := range int(2 * float64(rate) * seconds) {
		due := began.Add(time.Duration(n) * every)
		time.Sleep(time.Until(due)) // pause: the rate of the load
		i, directly := n/2%len(s.servers), n%2 == 0
		through, into := s.through[i], &m.through
		if directly {
			through, into = s.direct[i], &m.direct
		}
		if skip(i) {
			if !directly {
				go func() { // it may hang; nobody waits for it
					short, end := context.WithTimeout(s.t.Context(), 10*time.Second)
					defer end()
					_ = s.get(short, through, i)
				}()
			}
			continue
		}
		requests.Go(func() {
			if err := s.get(ctx, through, i); err != nil {
				m.failed.Add(1)
				s.t.Log(err)
				return
			}
			took := time.Since(due)
			mu.Lock()
			*into = append(*into, took)
			mu.Unlock()
		})
	}
	requests.Wait()
	slices.Sort(m.direct)
	slices.Sort(m.through)
	return m
}

// cost returns the processor time of a request of each kind, one after the other, by all of the process.
func (s *scale) cost(requests int) (direct, through time.Duration) {
	s.t.Helper()
	of := func(clients []*transport.Transport) time.Duration {
		before := cpu()
		for n := range requests {
			i := n % len(s.servers)
			require.NoError(s.t, s.get(s.t.Context(), clients[i], i))
		}
		return (cpu() - before) / time.Duration(requests)
	}
	return of(s.direct), of(s.through)
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManyClusters serves many clusters from one process, with watches open, and again with one of them hung, one that ends its connections
// all the time, and a slow one. It counts what does not depend on the machine, and prints the rest.
func TestManyClusters(t *testing.T) {
	s := newScale(t)
	none := func(int) bool { return false }
	s.load(*scaleRate, 0.2, none) // connections are warm
	idle := s.load(*scaleRate, *scaleSeconds, none)
	require.Zero(t, idle.failed.Load())

	alone := s.watch(true)
	alone.close()
	before := make([]int64, len(s.servers))
	for i, server := range s.servers {
		await.True(t, func() bool { return server.watches.Load() == 0 }, "all watches have ended")
		before[i] = server.opened.Load()
	}
	through := s.watch(false)
	each := (*scaleWatches + len(s.servers) - 1) / len(s.servers)
	total := int64(0)
	for i, server := range s.servers {
		opened := server.opened.Load() - before[i]
		require.LessOrEqual(t, opened, int64((each+40+streamsOfServer-1)/streamsOfServer+1), "connections to %s for %d watches", s.name(i), each)
		total += opened
	}
	added := (through.bytes - alone.bytes) / int64(*scaleWatches)
	require.Less(t, added, int64(64<<10), "bytes that the gateway needs for a watch")

	loaded := s.load(*scaleRate, *scaleSeconds, none)
	require.Zero(t, loaded.failed.Load())
	direct, via := s.cost(10 * *scaleRate)
	faulty := s.faults()
	others := s.load(*scaleRate, *scaleSeconds, faulty)
	require.Zero(t, others.failed.Load(), "requests to the others")
	through.close()

	average, _ := os.ReadFile("/proc/loadavg")
	row := func(what string, m *measured) string {
		return fmt.Sprintf("| %s | %v | %v | %v | %v |\n", what, quantile(m.direct, 0.5), quantile(m.through, 0.5), quantile(m.direct, 0.99), quantile(m.through, 0.99))
	}
	t.Logf("%d clusters, %d requests/s and as many directly, %d watches; load average %s\n%s%s%sconnections opened for the watches: %d; a watch: %d bytes directly, %d more with the gateway\n"+
		"processor time of a request with both ends: %v directly, %v with the gateway", len(s.servers), *scaleRate, *scaleWatches, strings.TrimSpace(string(average)),
		row("no watches", idle), row("all watches", loaded), row("and three clusters faulty: the others", others),
		total, alone.bytes/int64(*scaleWatches), added, direct, via)
}

// faults makes one cluster hang, one end its connections all the time, and one slow, and says which clusters these are.
func (s *scale) faults() (faulty func(i int) bool) {
	const hung, flapping, slow = 1, 3, 5
	close(s.servers[hung].hung)
	s.servers[slow].slow.Store(int64(500 * time.Millisecond))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.t.Context().Err() == nil {
			s.servers[flapping].CloseClientConnections()
			time.Sleep(100 * time.Millisecond) // pause: how long it serves
		}
	}()
	s.t.Cleanup(func() { <-done })
	return func(i int) bool { return i == hung || i == flapping || i == slow }
}
