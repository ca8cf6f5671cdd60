//go:build e2e

package e2ekube_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// The size of TestGatewayScale. The small default only keeps it working; `make bench-scale` sets the published one.
var watchesFlag = flag.Int("gateway-watches", 150, "watches of TestGatewayScale, three for each client")

// gatewayScale compares clients of an API server with clients of a gateway in front of it.
type gatewayScale struct {
	t       *testing.T
	kube    *kubelab.Lab
	rig     *gatewayRig
	metrics string // URL of the gateway's
	rows    []string
}

// road is one way to the API server.
type road struct {
	name    string
	base    *url.URL
	config  transport.Config
	gateway bool
}

// TestGatewayScale measures requests and watches directly, through netloom gateway, and with shared watches, and prints one
// table. It requires what does not depend on the machine: how many connections and watches the API server has to serve.
func TestGatewayScale(t *testing.T) {
	kube := startKube(t)
	s := &gatewayScale{t: t, kube: kube, rig: newGatewayRig(t, map[string]*kubelab.Lab{"a.example": kube}, "  dispatchPolicies: ["+everyRequest+"]\n")}
	kube.Apply("{apiVersion: v1, kind: Pod, metadata: {name: seen}, spec: {containers: [{name: c, image: i}]}}")
	s.run(s.road("direct", kube.Config()))
	for _, name := range []string{"gateway", "shared watches"} {
		observed := ovnlab.FreeAddress(t)
		s.metrics = "http://" + observed + "/metrics"
		s.rig.start("--metrics-listen="+observed, fmt.Sprintf("--shared-watches=%t", name == "shared watches"))
		config := kube.Config()
		config.Host = fmt.Sprintf("https://localhost:%d", s.rig.port)
		r := s.road(name, config)
		r.gateway = true
		s.latency(r)
		s.churn(r)
		s.run(r)
	}
	s.storm()
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("%d watches of pods, 3 for each client; load of the machine at the end: %s\n| %s |", *watchesFlag, strings.TrimSpace(string(load)), strings.Join(s.rows, " |\n| "))
}

func (s *gatewayScale) road(name string, config *rest.Config) road {
	s.t.Helper()
	require.NoError(s.t, rest.LoadTLSFiles(config))
	base, err := url.Parse(config.Host)
	require.NoError(s.t, err)
	return road{name: name, base: base, config: transport.Config{CA: config.CAData, Cert: config.CertData, Key: config.KeyData}}
}

// client is one client with connections of its own.
func (s *gatewayScale) client(r road) *transport.Transport {
	s.t.Helper()
	c, err := transport.New(r.base, r.config)
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

// get requests a path, and returns the open response.
func (r road) get(ctx context.Context, through http.RoundTripper, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base.String()+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := through.RoundTrip(request)
	if err == nil && response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return response, err
}

// watchPath is the path of a watch from now, as a client finds it with a list.
func (s *gatewayScale) watchPath(r road) string {
	s.t.Helper()
	const pods = "/api/v1/namespaces/default/pods"
	response, err := r.get(s.t.Context(), s.client(r), pods+"?resourceVersion=0")
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	var list corev1.PodList
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&list))
	return pods + "?watch=1&resourceVersion=" + list.ResourceVersion
}

// latency compares reading a pod directly and through r, in turn, so that both have the same load beside them.
func (s *gatewayScale) latency(r road) {
	roads := []road{s.road("direct", s.kube.Config()), r}
	took := make([][]time.Duration, len(roads))
	clients := []http.RoundTripper{s.client(roads[0]), s.client(r)}
	for n := range 20 + *watchesFlag {
		for i, through := range clients {
			began := time.Now()
			response, err := roads[i].get(s.t.Context(), through, "/api/v1/namespaces/default/pods/seen")
			require.NoError(s.t, err)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(s.t, err)
			_ = response.Body.Close()
			if n >= 20 { // connections, tokens and caches are warm
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	s.rows = append(s.rows, fmt.Sprintf("GET, %s | p50 %s, direct %s | p99 %s, direct %s", r.name, millis(quantile(took[1], 0.5)), millis(quantile(took[0], 0.5)),
		millis(quantile(took[1], 0.99)), millis(quantile(took[0], 0.99))))
}

// crowd are watches that all see the same events.
type crowd struct {
	mu      sync.Mutex
	seen    []time.Duration // after sent
	sent    time.Time
	clients []*transport.Transport
	readers sync.WaitGroup
	cut     int // watches that ended with an error
}

// arrive notes an event.
func (c *crowd) arrive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, time.Since(c.sent))
}

// ended notes the end of a watch.
func (c *crowd) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, io.EOF) {
		c.cut++
	}
}

func (c *crowd) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.sent = nil, time.Now()
}

func (c *crowd) arrived() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// gather has all clients connect and open their watches at once.
func (s *gatewayScale) gather(ctx context.Context, r road, path string) *crowd {
	s.t.Helper()
	c := &crowd{}
	var opening sync.WaitGroup
	failed := make(chan error, *watchesFlag)
	for range *watchesFlag / 3 {
		through := s.client(r)
		c.clients = append(c.clients, through)
		for range 3 {
			opening.Go(func() {
				response, err := r.get(ctx, through, path)
				if err != nil {
					failed <- err
					return
				}
				c.readers.Go(func() {
					defer func() { _ = response.Body.Close() }()
					for lines := bufio.NewReader(response.Body); ; c.arrive() {
						if _, err := lines.ReadSlice('\n'); err != nil {
							c.ended(err)
							return
						}
					}
				})
			})
		}
	}
	opening.Wait()
	close(failed)
	for err := range failed {
		require.NoError(s.t, err)
	}
	return c
}

// churn opens and closes watches, and requires that the gateway keeps nothing of them.
func (s *gatewayScale) churn(r road) {
	t := s.t
	const clients = 10
	var roads []*transport.Transport
	for range clients {
		roads = append(roads, s.client(r))
	}
	path := s.watchPath(r)
	watch := func(ctx context.Context, through http.RoundTripper) error {
		response, err := r.get(ctx, through, path)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	for _, through := range roads {
		require.NoError(t, watch(t.Context(), through))
	}
	before := get(t, s.metrics)
	rounds := max(100, *watchesFlag/3)
	failed := make(chan error, clients)
	for _, through := range roads {
		go func() {
			for range rounds {
				if err := watch(t.Context(), through); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range clients {
		require.NoError(t, <-failed)
	}
	var after string
	await.True(t, func() bool {
		after = get(t, s.metrics)
		grown := func(metric string) float64 { return sample(after, metric) - sample(before, metric) }
		return sample(after, "netloom_gateway_requests_in_flight", `kind="stream"`) == 0 && grown("go_goroutines") <= 10 &&
			grown("netloom_gateway_endpoint_connections") <= 1 && grown("go_memstats_heap_alloc_bytes") <= 8<<20
	}, "nothing is left of closed watches")
	s.rows = append(s.rows, fmt.Sprintf("churn, %s | %d watches opened and closed | goroutines %.0f, then %.0f | connections %.0f, then %.0f | heap %s, then %s", r.name, clients*rounds,
		sample(before, "go_goroutines"), sample(after, "go_goroutines"), sample(before, "netloom_gateway_endpoint_connections"), sample(after, "netloom_gateway_endpoint_connections"),
		mib(int64(sample(before, "go_memstats_heap_alloc_bytes"))), mib(int64(sample(after, "go_memstats_heap_alloc_bytes")))))
}

// run opens watches, changes a pod a few times, and ends the watches: those through the gateway by stopping it.
func (s *gatewayScale) run(r road) {
	t := s.t
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served, api := podWatches(t, s.kube), s.kube.APIServer().PID()
	if r.name == "shared watches" {
		served -= int(sample(get(t, s.metrics), "netloom_gateway_endpoint_streams")) // of the list before
	}
	path := s.watchPath(r)
	memory, apiMemory, cpu, began := s.memory(r), statusOf(api, "VmRSS"), cpuOf(t, api), time.Now()
	c := s.gather(ctx, r, path)
	opened := time.Since(began)
	watches := podWatches(t, s.kube) - served
	connections := s.connections(r, c)

	var median, slowest []time.Duration
	const changes = 5
	for n := range changes {
		c.begin()
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%s-%d"}}}`, strings.ReplaceAll(r.name, " ", "-"), n)
		_, err := s.kube.Client().CoreV1().Pods("default").Patch(t.Context(), "seen", types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
		await.True(t, func() bool { return len(c.arrived()) >= *watchesFlag }, "all clients see the change")
		median, slowest = append(median, quantile(c.arrived(), 0.5)), append(slowest, quantile(c.arrived(), 1))
	}
	cpu = cpuOf(t, api) - cpu
	s.rows = append(s.rows, fmt.Sprintf("watches, %s | opened in %s | connections opened and live %s | watches of the API server %d | %.1f s of its processor time | its memory +%s %s | an event: median %s, all after %s",
		r.name, seconds(opened), connections, watches, cpu, mib(statusOf(api, "VmRSS")-apiMemory), s.perWatch(r, memory),
		millis(quantile(median, 0.5)), millis(quantile(slowest, 0.5))))
	if r.name == "shared watches" {
		require.LessOrEqual(t, watches, 2, "one watch, and one that catches up")
	} else {
		require.GreaterOrEqual(t, watches, *watchesFlag)
	}
	if r.gateway {
		require.NoError(t, s.rig.process.Signal(syscall.SIGTERM))
		<-s.rig.process.Exited()
		require.Zero(t, s.rig.process.ExitCode(), s.rig.process.Tail(30))
		c.readers.Wait()
		require.Zero(t, c.cut, "watches end as if the API server had ended them")
	}
	cancel()
	c.readers.Wait()
	for _, client := range c.clients {
		client.Close()
	}
	await.True(t, func() bool { return podWatches(t, s.kube) <= served+1 }, "the API server serves no watches of clients")
}

// connections returns how many connections to the API server were opened and are live, and requires that the gateway needed
// no more than streams and its own requests do, also while everybody connected at once.
func (s *gatewayScale) connections(r road, c *crowd) string {
	if !r.gateway {
		opened, live := uint64(0), 0
		for _, client := range c.clients {
			stats := client.Stats()
			opened, live = opened+stats.Dialed, live+stats.Open
		}
		return fmt.Sprintf("%d, %d", opened, live)
	}
	text := get(s.t, s.metrics)
	opened, live := sample(text, "netloom_gateway_endpoint_connections_opened_total"), sample(text, "netloom_gateway_endpoint_connections")
	const streams = 100 // on one connection, by default
	require.LessOrEqual(s.t, int(opened), (*watchesFlag+streams-1)/streams+1)
	return fmt.Sprintf("%.0f, %.0f", opened, live)
}

// memory is what the gateway uses, 0 without one.
func (s *gatewayScale) memory(r road) int64 {
	if !r.gateway {
		return 0
	}
	return statusOf(s.rig.process.PID(), "VmRSS")
}

// perWatch is the growth of the gateway's memory.
func (s *gatewayScale) perWatch(r road, before int64) string {
	if !r.gateway {
		return ""
	}
	return fmt.Sprintf(" | the gateway's +%.0f KiB a watch", float64(s.memory(r)-before)/1024/float64(*watchesFlag))
}
