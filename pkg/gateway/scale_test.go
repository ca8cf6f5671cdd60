package gateway_test

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
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

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
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

// scale is a gateway in front of many clusters, and clients of both.
type scale struct {
	*rig
	program *program // the gateway, if it is a process of its own
	ca      *authority
	servers []*standIn
	direct  []*transport.Transport // a client of each server
	through []*transport.Transport // a client of the gateway for each cluster
}

func (s *scale) name(i int) string { return fmt.Sprintf("c%02d.example", i) }

func newScale(t *testing.T) *scale {
	t.Helper()
	s := &scale{rig: &rig{t: t}, ca: newAuthority(t)}
	s.stand()
	if *scaleProgram != "" {
		s.rig = &rig{t: t, serving: newAuthority(t)}
		s.program, s.address = startProgram(t, s.serving, s.clusters())
	} else {
		s.embed()
	}
	for i := range s.servers {
		s.direct = append(s.direct, s.connect(i, true))
		s.through = append(s.through, s.connect(i, false))
		await.True(t, func() bool { return s.get(t.Context(), s.through[i], i) == nil }, "%s is served", s.name(i))
	}
	return s
}

// clusters are the objects.
func (s *scale) clusters() (out []*v1alpha1.UpstreamCluster) {
	for i, server := range s.servers {
		out = append(out, cluster(s.name(i), s.ca, &apiServer{Server: server.Server}))
	}
	return out
}

// embed runs the gateway in this process.
func (s *scale) embed() {
	s.t.Helper()
	s.rig = newRig(s.t, func(o *gateway.Options) {
		o.Connections = 1 << 14
		o.Probe = upstream.Probe{Timeout: time.Hour, Silence: time.Hour} // what is counted does not depend on time
		if *scaleWatches >= 1000 {
			o.Probe = upstream.Probe{}
		}
		if testing.Verbose() {
			o.Log = logrus.New()
		}
	})
	for _, o := range s.clusters() {
		require.NoError(s.t, s.gateway.Clusters().Put(o))
	}
}

// stand starts the API servers.
func (s *scale) stand() {
	s.t.Helper()
	pair, err := tls.X509KeyPair(s.ca.issue("server", nil))
	require.NoError(s.t, err)
	for range *scaleClusters {
		s.servers = append(s.servers, newStandIn(s.t, pair))
	}
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

// crowd are open watches. bytes and goroutines are what the process has grown by that has the gateway; goroutines are not known if that is
// another one.
type crowd struct {
	cancel     context.CancelFunc
	readers    sync.WaitGroup
	bytes      int64
	goroutines int
}

func (c *crowd) close() {
	c.cancel()
	c.readers.Wait()
}

// watch opens all watches, 40 for each client, directly or through the gateway.
func (s *scale) watch(directly bool) *crowd {
	s.t.Helper()
	before, goroutines := s.inUse(), runtime.NumGoroutine()
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
	c.bytes, c.goroutines = s.inUse()-before, runtime.NumGoroutine()-goroutines
	return c
}

// inUse is the memory of objects and stacks, or all of another process.
func (s *scale) inUse() int64 {
	if s.program != nil {
		return s.program.memory()
	}
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
	cpu             time.Duration // of the gateway, if it is a process of its own
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
	before := s.cpu()
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
	m.cpu = s.cpu() - before
	slices.Sort(m.direct)
	slices.Sort(m.through)
	return m
}

// cpu is the processor time that the gateway has taken, or all of this process.
func (s *scale) cpu() time.Duration {
	if s.program != nil {
		return s.program.cpu()
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocations counts those of a request and its answer at both ends, one request after the other.
func (s *scale) allocations(clients []*transport.Transport, requests int) uint64 {
	s.t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range requests {
		i := n % len(s.servers)
		require.NoError(s.t, s.get(s.t.Context(), clients[i], i))
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / uint64(requests)
}

// TestManyClusters serves many clusters from one process, with watches open, and again with one of them hung, one that ends its connections
// all the time, and a slow one. It counts what does not depend on the machine, and prints the rest: durations directly and through the gateway,
// and the processor time of a request.
func TestManyClusters(t *testing.T) {
	s := newScale(t)
	none := func(int) bool { return false }
	s.load(*scaleRate, 0.2, none) // connections are warm
	idle := s.load(*scaleRate, *scaleSeconds, none)
	require.Zero(t, idle.failed.Load())
	minimal := &measured{}
	if s.program != nil {
		proxy := s.minimal()
		proxy.load(*scaleRate, 0.2, none)
		minimal = proxy.load(*scaleRate, *scaleSeconds, none)
		require.Zero(t, minimal.failed.Load())
	}

	alone := &crowd{}
	if s.program == nil { // what both ends need is in the same process
		alone = s.watch(true)
		alone.close()
	}
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
	if s.program == nil {
		require.Less(t, added, int64(64<<10), "bytes that the gateway needs for a watch")
		perWatch := float64(through.goroutines-alone.goroutines) / float64(*scaleWatches)
		require.Less(t, perWatch, 2.5, "goroutines for a watch: the handler, the stream to the API server, and a share of connections")
		direct, via := s.allocations(s.direct, 1000), s.allocations(s.through, 1000)
		require.LessOrEqual(t, via-direct, uint64(allocationsOfRequest), "allocations of a request in the gateway")
		t.Logf("goroutines for a watch %.2f; allocations of a request %d directly, %d with the gateway", perWatch, direct, via)
	}

	loaded := s.load(*scaleRate, *scaleSeconds, none)
	require.Zero(t, loaded.failed.Load())
	faulty := s.faults()
	others := s.load(*scaleRate, *scaleSeconds, faulty)
	require.Zero(t, others.failed.Load(), "requests to the others")
	through.close()

	average, _ := os.ReadFile("/proc/loadavg")
	row := func(what string, m *measured) string {
		return fmt.Sprintf("| %s | %v | %v | %v | %v | %v |\n", what, quantile(m.direct, 0.5), quantile(m.through, 0.5), quantile(m.direct, 0.99), quantile(m.through, 0.99),
			m.cpu/time.Duration(max(1, len(m.through))))
	}
	t.Logf("%d clusters, %d requests/s and as many directly, %d watches; load average %s\n%s%s%s%sconnections opened for the watches: %d; a watch: %d bytes",
		len(s.servers), *scaleRate, *scaleWatches, strings.TrimSpace(string(average)),
		row("the minimal proxy", minimal), row("no watches", idle), row("all watches", loaded), row("and three clusters faulty: the others", others), total, added)
}

// allocationsOfRequest is how many a request and its answer may take in the gateway, the HTTP/2 of both sides included.
const allocationsOfRequest = 145

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
