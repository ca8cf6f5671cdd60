package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/dispatch"
)

// Transport sends requests to one API server, and switches protocols for requests with the header Upgrade.
type Transport interface {
	http.RoundTripper
	// Drain is called once no new requests will come: connections close as soon as they are idle.
	Drain()
	// Connections returns how many connections were opened since it was made, and how many are open now.
	Connections() (opened uint64, open int)
	// Received returns when something last came from the API server, the zero time if nothing has.
	Received() time.Time
	// Ping returns an error if the API server sent nothing on open connections until ctx ended, although it was asked to.
	Ping(ctx context.Context) error
}

// Options configure a cluster. Log is required.
type Options struct {
	Log logrus.FieldLogger
	// NewTransport makes the transport to an endpoint; nil means that of package transport. The bearer token in config does not
	// concern it.
	NewTransport func(endpoint *url.URL, config *v1alpha1.ClientConfig) (Transport, error)
	Probe        Probe
	// Count is called with what happens to requests: retries on another API server.
	Count func(event Event)
	// Refused is called when an API server does not accept the credentials of clientConfig; nil calls nothing.
	Refused func()
}

// Event is something that happened to a request.
type Event string

// The events that are counted.
const (
	EventRetry   Event = "retry"   // nothing was sent to an API server, and another was tried
	EventEjected Event = "ejected" // an API server was taken out of service because no connection to it was possible
)

// Cluster is an UpstreamCluster that is served. Make it with New.
type Cluster struct {
	name  string
	opts  Options
	state atomic.Pointer[state]
	own   *rate.Limiter // requests of the gateway itself

	mu      sync.Mutex // held by Update and Close
	stop    context.CancelFunc
	probing sync.WaitGroup
	start   func(*endpoint)
}

// state is one version of the configuration. It is not changed.
type state struct {
	object    *v1alpha1.UpstreamCluster
	table     *dispatch.Table
	routes    []*Route
	endpoints []*endpoint // that are not disabled
	all       *pool
	certs     *certificates
	limits    limits
}

// New starts a cluster without a configuration, which serves nothing until Update. It probes until ctx ends or Close.
func New(ctx context.Context, name string, opts Options) *Cluster {
	if opts.Count == nil {
		opts.Count = func(Event) {}
	}
	if opts.Refused == nil {
		opts.Refused = func() {}
	}
	if opts.NewTransport == nil {
		opts.NewTransport = func(endpoint *url.URL, config *v1alpha1.ClientConfig) (Transport, error) {
			return connect(endpoint, config, opts.Probe.complete().Silence)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	c := &Cluster{name: name, opts: opts, stop: stop, own: rate.NewLimiter(0, math.MaxInt32)} // full, up to what Update sets
	c.state.Store(&state{certs: &certificates{}, table: dispatch.Compile(nil), all: newPool(nil)})
	c.start = func(e *endpoint) {
		probes, stop := context.WithCancel(ctx)
		e.stop = stop
		c.probing.Go(func() { e.probe(probes) })
		c.probing.Go(func() { e.listen(probes) })
	}
	return c
}

// Name is the name of the object.
func (c *Cluster) Name() string { return c.name }

// Object returns the configuration that is served; nil before the first one.
func (c *Cluster) Object() *v1alpha1.UpstreamCluster { return c.state.Load().object }

// Update serves object from now on, which definition.Check has accepted. With a reference in clientConfig.credentials, which package
// credential replaces, no API server is ready. Requests in progress go on, except for streams of
// endpoints that are gone. If it returns an error, nothing has changed: certificates cannot be used.
func (c *Cluster) Update(object *v1alpha1.UpstreamCluster) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	certs, err := loadCertificates(&object.Spec)
	if err != nil {
		return err
	}
	old := c.state.Load()
	next := &state{object: object, certs: certs, table: dispatch.Compile(object.Spec.DispatchPolicies)}
	if next.endpoints, err = c.endpoints(old, object, certs); err != nil {
		return err
	}
	next.all = newPool(next.endpoints)
	next.limits = old.limits.update(object.Spec.FlowControl.FlowControlSchemas)
	for i := range object.Spec.DispatchPolicies {
		next.routes = append(next.routes, c.route(next, i))
	}
	qps, burst := ownRate(&object.Spec.ClientConfig)
	c.own.SetLimit(qps)
	c.own.SetBurst(burst)
	c.state.Store(next)
	retire(old.endpoints, next.endpoints)
	return nil
}

// The rate of the gateway's own requests if the object sets none.
const defaultQPS = 50

func ownRate(config *v1alpha1.ClientConfig) (qps rate.Limit, burst int) {
	qps, burst = defaultQPS, int(config.Burst)
	if config.QPS > 0 {
		qps = rate.Limit(config.QPS) / rate.Limit(max(config.QPSDivisor, 1))
	}
	if burst == 0 {
		burst = max(int(2*qps), 1)
	}
	return qps, burst
}

// endpoints returns the endpoints of object: those of old where nothing has changed, and new ones otherwise.
func (c *Cluster) endpoints(old *state, object *v1alpha1.UpstreamCluster, certs *certificates) ([]*endpoint, error) {
	before := map[string]*endpoint{}
	for _, e := range old.endpoints {
		before[e.name] = e
	}
	var out, made []*endpoint
	for _, server := range object.Spec.Servers {
		if server.Disabled {
			continue
		}
		e := before[server.Endpoint]
		if e == nil || e.connects != certs.connects {
			var err error
			if e, err = newEndpoint(server.Endpoint, certs, e, c.opts); err != nil {
				return nil, err
			}
			made = append(made, e)
		}
		out = append(out, e)
	}
	for _, e := range made {
		c.start(e)
	}
	return out, nil
}

// retire takes endpoints out of service. Streams of an endpoint that is gone end; those of one with new credentials go on.
func retire(old, next []*endpoint) {
	names, same := map[string]bool{}, map[*endpoint]bool{}
	for _, e := range next {
		names[e.name], same[e] = true, true
	}
	for _, e := range old {
		if !same[e] {
			e.close()
		}
		if !names[e.name] {
			e.streams.End(0)
		}
	}
}

// Match returns how a request is served, or nil if no dispatch policy matches it.
func (c *Cluster) Match(q *dispatch.Request) *Route {
	s := c.state.Load()
	if i := s.table.Match(q); i >= 0 {
		return s.routes[i]
	}
	return nil
}

// RoundTrip sends a request of this process, as its own identity, to any API server that is ready. Watches end with their API
// server.
func (c *Cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		r = r.WithContext(WithStream(r.Context()))
	}
	if err := c.own.Wait(r.Context()); err != nil {
		return nil, err
	}
	return c.state.Load().all.send(r, c.opts.Count)
}

// ServingCertificate returns the certificate to present to clients, nil if there is none.
func (c *Cluster) ServingCertificate() *tls.Certificate { return c.state.Load().certs.serving }

// ClientCAs returns the CA certificates for clients, nil if there are none.
func (c *Cluster) ClientCAs() *x509.CertPool { return c.state.Load().certs.clientCAs }

// Endpoints describes the endpoints that are not disabled.
func (c *Cluster) Endpoints() []EndpointStatus {
	var out []EndpointStatus
	for _, e := range c.state.Load().endpoints {
		out = append(out, e.status())
	}
	return out
}

// EndStreams ends watches and other streams, each at a random time within the given duration.
func (c *Cluster) EndStreams(within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.state.Load().endpoints {
		e.streams.End(within)
	}
}

// Close ends all streams, and waits for the probes to end. Requests in progress go on.
func (c *Cluster) Close() {
	c.mu.Lock()
	old := c.state.Load()
	c.state.Store(&state{certs: &certificates{}, table: dispatch.Compile(nil), all: newPool(nil)})
	retire(old.endpoints, nil)
	c.mu.Unlock()
	c.stop()
	c.probing.Wait()
}

// ErrSilent means that an API server has stopped answering while a request was in progress.
var ErrSilent = errors.New("the API server does not answer")

// ErrNoEndpoint means that no API server is ready, of those that a dispatch policy selects.
var ErrNoEndpoint = errors.New("no API server is ready")
