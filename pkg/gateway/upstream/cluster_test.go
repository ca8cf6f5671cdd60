package upstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/dispatch"
	realtransport "github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// servers are API servers without a network: what a transport finds at each host.
type servers struct {
	mu       sync.Mutex
	fault    map[string]error // no connection is possible
	broken   map[string]error // the connection breaks after the request was sent
	unready  map[string]int   // status of health checks
	hangs    map[string]bool
	starved  time.Duration     // how late the gateway itself learns that an answer is late
	refuses  map[string]int    // how many requests are read and not processed
	forgets  map[string]int    // how many health checks are not processed
	stops    map[string]string // what a request is answered with while the server is shutting down
	got      map[string]int    // requests that arrived, processed or not
	requests map[string]int    // that were processed
	checks   int
	pings    int
	heard    time.Time // when something last came from any of them
	bodies   map[string]string
	tokens   map[string]string
	drained  []string
	streams  []*io.PipeWriter
	late     chan struct{} // when watches begin, nil for at once
}

func newServers() *servers {
	return &servers{
		fault: map[string]error{}, broken: map[string]error{}, unready: map[string]int{}, hangs: map[string]bool{}, requests: map[string]int{},
		refuses: map[string]int{}, forgets: map[string]int{}, stops: map[string]string{}, got: map[string]int{},
		bodies: map[string]string{}, tokens: map[string]string{},
	}
}

func (s *servers) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *servers) checked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

type transport struct {
	*servers
	host string
}

func (t *transport) Drain() { t.change(func() { t.drained = append(t.drained, t.host) }) }

func (t *transport) Ping(ctx context.Context) error {
	t.mu.Lock()
	t.pings++
	hangs, starved := t.hangs[t.host], t.starved
	t.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	time.Sleep(starved)
	return ctx.Err()
}

func (*transport) Connections() (opened uint64, open int) { return 0, 0 }

func (t *transport) Received() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	fault, broken, unready, hangs := t.fault[t.host], t.broken[t.host], t.unready[t.host], t.hangs[t.host]
	t.mu.Unlock()
	if fault != nil {
		_ = r.Body.Close()
		return nil, &realtransport.NotProcessedError{Err: fault}
	}
	if hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if broken != nil && r.URL.Path != "/readyz" {
		return nil, broken
	}
	response := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}
	switch r.URL.Path {
	case "/readyz", "/healthz":
		if t.forget() {
			return nil, &realtransport.NotProcessedError{Err: errGoAway, Connected: true}
		}
		t.change(func() { t.checks++ })
		if unready != 0 && (unready != http.StatusNotFound || r.URL.Path == "/readyz") {
			response.StatusCode = unready
		}
	case "/watch":
		if t.late != nil {
			<-t.late
		}
		body, w := io.Pipe()
		response.Body = body
		t.change(func() { t.streams = append(t.streams, w) })
	default:
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err == nil {
			if stops, err := t.turnAway(response); stops || err != nil {
				return response, err
			}
		}
		t.change(func() {
			t.requests[t.host]++
			t.bodies[t.host], t.tokens[t.host] = string(text), r.Header.Get("Authorization")
		})
		return response, err
	}
	return response, nil
}

// forget reports whether a health check is not processed.
func (t *transport) forget() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgets[t.host]--
	return t.forgets[t.host] >= 0
}

// turnAway refuses a request, or answers that the server is shutting down.
func (t *transport) turnAway(response *http.Response) (stops bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got[t.host]++
	if t.refuses[t.host] > 0 {
		t.refuses[t.host]--
		return false, &realtransport.NotProcessedError{Err: errGoAway, Connected: true}
	}
	text, stops := t.stops[t.host]
	if stops {
		response.StatusCode, response.Header = http.StatusServiceUnavailable, http.Header{"Retry-After": {"1"}}
		response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), -1
	}
	return stops, nil
}

func object(hosts ...string) *v1alpha1.UpstreamCluster {
	o := &v1alpha1.UpstreamCluster{}
	o.Name = "c"
	for _, h := range hosts {
		o.Spec.Servers = append(o.Spec.Servers, v1alpha1.UpstreamClusterServer{Endpoint: "https://" + h})
	}
	o.Spec.ClientConfig.QPS, o.Spec.ClientConfig.Burst = 100000, 100000
	o.Spec.DispatchPolicies = []v1alpha1.DispatchPolicy{{Rules: []v1alpha1.DispatchPolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	}}}
	return o
}

// start serves o, and waits for the first checks. It runs in a bubble.
func start(t *testing.T, s *servers, o *v1alpha1.UpstreamCluster) *upstream.Cluster {
	t.Helper()
	log, _ := logtest.NewNullLogger()
	c := upstream.New(t.Context(), "c", upstream.Options{Log: log, NewTransport: func(at *url.URL, _ *v1alpha1.ClientConfig) (upstream.Transport, error) {
		return &transport{s, at.Host}, nil
	}})
	t.Cleanup(c.Close)
	require.NoError(t, c.Update(o))
	synctest.Wait()
	return c
}

func ask(t *testing.T, via http.RoundTripper) error {
	t.Helper()
	return send(t, via, http.MethodGet, "/api", "")
}

func send(t *testing.T, via http.RoundTripper, method, path, body string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://upstream"+path, &text{Reader: strings.NewReader(body)})
	require.NoError(t, err)
	response, err := via.RoundTrip(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// text is a body that cannot be read once it is closed.
type text struct {
	io.Reader
	closed bool
}

func (b *text) Read(p []byte) (int, error) {
	if b.closed {
		return 0, errors.New("the body is closed")
	}
	return b.Reader.Read(p)
}

func (b *text) Close() error {
	b.closed = true
	return nil
}

func readyOf(c *upstream.Cluster) map[string]bool {
	out := map[string]bool{}
	for _, e := range c.Endpoints() {
		out[strings.TrimPrefix(e.Endpoint, "https://")] = e.Ready
	}
	return out
}

func TestReadyServersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		s.unready["d"] = 503
		o := object("a", "b", "c", "d", "e")
		o.Spec.Servers[4].Disabled = true
		c := start(t, s, o)
		for range 100 {
			require.NoError(t, ask(t, c))
		}
		for _, host := range []string{"a", "b", "c"} {
			require.InDelta(t, 33, s.requests[host], 1, host)
		}
		require.Zero(t, s.requests["d"]+s.requests["e"])
	})
}

func TestRequestsOfThisProcessHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := object("a")
		o.Spec.ClientConfig.QPS, o.Spec.ClientConfig.QPSDivisor, o.Spec.ClientConfig.Burst = 10, 2, 1
		c := start(t, newServers(), o)
		time.Sleep(time.Minute)
		began := time.Now()
		for range 11 {
			require.NoError(t, ask(t, c))
		}
		require.Equal(t, 2*time.Second, time.Since(began), "5 a second after the first")
	})
}

func TestAPolicySelectsServers(t *testing.T) {
	for name, set := range map[string]func(p *v1alpha1.DispatchPolicy){
		"as the API spells it":      func(p *v1alpha1.DispatchPolicy) { p.UpstreamSubset = []string{"https://b"} },
		"as the document spells it": func(p *v1alpha1.DispatchPolicy) { p.UpsteamSubset = []string{"https://b"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServers()
				o := object("a", "b")
				set(&o.Spec.DispatchPolicies[0])
				route := start(t, s, o).Match(&dispatch.Request{IsResource: true, Verb: "get", Resource: "pods"})
				for range 10 {
					require.NoError(t, ask(t, route))
				}
				require.Equal(t, map[string]int{"b": 10}, s.requests)
			})
		})
	}
}

func TestWhatWasNeverSentIsSentElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		s.change(func() { s.fault["a"] = errors.New("connection refused") })
		for range 10 {
			require.NoError(t, send(t, c, http.MethodPost, "/api", "text"))
		}
		require.Equal(t, map[string]int{"b": 10}, s.requests)
		require.Equal(t, "text", s.bodies["b"], "the body was not consumed by the first attempt")
		require.Equal(t, map[string]bool{"a": false, "b": true}, readyOf(c), "no further request tries a")

		s.change(func() { delete(s.fault, "a") })
		time.Sleep(10 * time.Second)
		require.Equal(t, map[string]bool{"a": true, "b": true}, readyOf(c))
	})
}

func TestWhatWasSentIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		broken := errors.New("connection reset")
		s.change(func() { s.broken["a"], s.broken["b"] = broken, broken })
		require.ErrorIs(t, send(t, c, http.MethodPost, "/api", "text"), broken)
		require.Empty(t, s.requests)
		require.Equal(t, map[string]bool{"a": true, "b": true}, readyOf(c), "one broken request says little about a server")
	})
}

func TestAllServersDieAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		refused := errors.New("connection refused")
		s.change(func() { s.fault["a"], s.fault["b"] = refused, refused })
		require.ErrorIs(t, ask(t, c), refused)
		for range 2 {
			if err := ask(t, c); errors.Is(err, upstream.ErrNoEndpoint) {
				break
			}
		}
		require.ErrorIs(t, ask(t, c), upstream.ErrNoEndpoint)
		s.change(func() { clear(s.fault) })
		time.Sleep(10 * time.Second)
		require.NoError(t, ask(t, c))
	})
}

func TestHealthHasHysteresis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a"))
		require.True(t, readyOf(c)["a"], "the first check is enough at the start")

		s.change(func() { s.unready["a"], s.checks = 500, 0 })
		for s.checked() < 3 {
			require.True(t, readyOf(c)["a"], "after %d failed checks", s.checked())
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
		}
		require.False(t, readyOf(c)["a"])
		require.Contains(t, c.Endpoints()[0].Message, "internal server error")

		s.change(func() { s.unready["a"], s.checks = 0, 0 })
		for s.checked() < 2 {
			require.False(t, readyOf(c)["a"], "after %d passed checks", s.checked())
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
		}
		require.True(t, readyOf(c)["a"])

		s.change(func() { s.unready["a"], s.checks = 500, 0 })
		for s.checked() < 2 {
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
		}
		s.change(func() { s.unready["a"] = 0 })
		time.Sleep(time.Minute)
		require.True(t, readyOf(c)["a"], "two failed checks between passed ones are not enough")
	})
}

// TestChecksThatWereNotProcessedAreAskedAgain has a server that ends the connections of its checks with GOAWAY, as one does that balances
// its clients.
func TestChecksThatWereNotProcessedAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a"))
		for range 10 {
			s.change(func() { s.forgets["a"] = 9 })
			time.Sleep(6 * time.Second)
			require.True(t, readyOf(c)["a"])
			require.Empty(t, c.Endpoints()[0].Message)
		}
		s.change(func() { s.forgets["a"] = 1000 })
		time.Sleep(time.Minute)
		require.False(t, readyOf(c)["a"], "one that never answers is not ready")
	})
}

func TestAHungServerIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		s.change(func() { s.hangs["a"] = true })
		time.Sleep(30 * time.Second)
		require.Equal(t, map[string]bool{"a": false, "b": true}, readyOf(c))
	})
}

func TestAServerWithoutReadyzIsAskedForHealthz(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		s.unready["a"] = http.StatusNotFound
		require.True(t, readyOf(start(t, s, object("a")))["a"])
	})
}

// TestCredentialsChangeInPlace checks that new credentials apply at once, and that the endpoint stays ready and its streams
// go on meanwhile.
func TestCredentialsChangeInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		o := object("a")
		o.Spec.ClientConfig.BearerToken = []byte("old")
		c := start(t, s, o)
		r, err := http.NewRequestWithContext(upstream.WithStream(t.Context()), http.MethodGet, "https://upstream/watch", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer client")
		watch, err := c.RoundTrip(r)
		require.NoError(t, err)
		defer watch.Body.Close() //nolint:errcheck // it is a test's
		require.Equal(t, "Bearer client", r.Header.Get("Authorization"), "the request of the caller is not changed")

		o = o.DeepCopy()
		o.Spec.ClientConfig.BearerToken = []byte("new")
		require.NoError(t, c.Update(o))
		require.NoError(t, ask(t, c), "it is ready without a new check")
		require.Equal(t, "Bearer new", s.tokens["a"])
		require.Equal(t, []string{"a"}, s.drained)
		require.Equal(t, 1, c.Endpoints()[0].Streams)
		go func() { _, _ = s.streams[0].Write([]byte("event")) }()
		event := make([]byte, 5)
		_, err = io.ReadFull(watch.Body, event)
		require.NoError(t, err)

		o = o.DeepCopy()
		o.Spec.Servers[0].Endpoint = "https://b"
		require.NoError(t, c.Update(o))
		_, err = watch.Body.Read(event)
		require.Equal(t, io.EOF, err, "the server is gone, and its watches end in order")
	})
}

// TestWhatConnectionsDependOn changes one part of the credentials at a time.
func TestWhatConnectionsDependOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		o := object("a")
		o.Spec.ClientConfig.CAData, _ = certificate(t)
		o.Spec.ClientConfig.CertData, o.Spec.ClientConfig.KeyData = certificate(t)
		c := start(t, s, o)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://upstream/api", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer client")
		response, err := c.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Empty(t, s.tokens["a"], "only the gateway's own credentials are sent")
		for name, change := range map[string]func(c *v1alpha1.ClientConfig){
			"the token":       func(c *v1alpha1.ClientConfig) { c.BearerToken = append(c.BearerToken, 'x') },
			"the CA":          func(c *v1alpha1.ClientConfig) { c.CAData, _ = certificate(t) },
			"the certificate": func(c *v1alpha1.ClientConfig) { c.CertData, c.KeyData = certificate(t) },
			"the name":        func(c *v1alpha1.ClientConfig) { c.ServerName += "x" },
			"verification":    func(c *v1alpha1.ClientConfig) { c.Insecure = !c.Insecure },
		} {
			o = o.DeepCopy()
			change(&o.Spec.ClientConfig)
			s.drained = nil
			require.NoError(t, c.Update(o))
			require.Equal(t, []string{"a"}, s.drained, name)
			s.drained = nil
			require.NoError(t, c.Update(o))
			require.Empty(t, s.drained, name)
		}
		o = o.DeepCopy()
		o.Spec.ClientConfig.QPS = 7
		require.NoError(t, c.Update(o))
		require.Empty(t, s.drained, "a limit concerns no connection")
	})
}

// certificate returns a new certificate and its key.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func TestABadCertificateChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, newServers(), object("a"))
		bad := object("b")
		bad.Spec.ClientConfig.CAData = []byte("x")
		bad.Spec.SecureServing.ClientCAData = []byte("y")
		bad.Spec.SecureServing.CertData, bad.Spec.SecureServing.KeyData = []byte("s3cr3t"), []byte("s3cr3t")
		err := c.Update(bad)
		require.ErrorContains(t, err, "spec.clientConfig.caData")
		require.ErrorContains(t, err, "spec.secureServing.clientCAData")
		require.ErrorContains(t, err, "spec.secureServing.certData")
		require.NotContains(t, err.Error(), "s3cr3t")
		require.Equal(t, map[string]bool{"a": true}, readyOf(c))
	})
}

func TestStreamsEndSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a"))
		var mu sync.Mutex
		seconds := map[int]int{}
		var began time.Time
		var wait sync.WaitGroup
		for range 300 {
			r, err := http.NewRequestWithContext(upstream.WithStream(t.Context()), http.MethodGet, "https://upstream/watch", http.NoBody)
			require.NoError(t, err)
			response, err := c.RoundTrip(r)
			require.NoError(t, err)
			wait.Go(func() {
				_, err := io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					seconds[int(time.Since(began).Seconds())]++
				}
			})
		}
		synctest.Wait()
		began = time.Now()
		c.EndStreams(10 * time.Second)
		wait.Wait()
		require.Len(t, seconds, 10, "every second some of them end")
		for second, n := range seconds {
			require.Less(t, n, 100, "second %d", second)
		}
		require.Zero(t, c.Endpoints()[0].Streams)
	})
}

// TestStreamsThatOpenLateEnd has requests for watches on their way while all watches end.
func TestStreamsThatOpenLateEnd(t *testing.T) {
	for name, end := range map[string]func(c *upstream.Cluster) error{
		"the gateway stops": func(c *upstream.Cluster) error {
			c.EndStreams(10 * time.Second)
			return nil
		},
		"the API server is removed": func(c *upstream.Cluster) error { return c.Update(object("b")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServers()
				s.late = make(chan struct{})
				c := start(t, s, object("a"))
				ended := make(chan error, 1)
				r, err := http.NewRequestWithContext(upstream.WithStream(t.Context()), http.MethodGet, "https://upstream/watch", http.NoBody)
				require.NoError(t, err)
				go func() {
					response, err := c.RoundTrip(r)
					if err == nil {
						_, err = io.Copy(io.Discard, response.Body)
						_ = response.Body.Close()
					}
					ended <- err
				}()
				synctest.Wait()
				require.NoError(t, end(c))
				time.Sleep(20 * time.Second)
				close(s.late)
				time.Sleep(20 * time.Second)
				require.Len(t, ended, 1, "the watch has ended")
				require.NoError(t, <-ended, "as if the API server had ended it")
			})
		})
	}
}
