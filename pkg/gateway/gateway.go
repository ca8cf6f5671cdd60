package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/netloom/netloom/pkg/gateway/audit"
	"github.com/netloom/netloom/pkg/gateway/credential"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/pkg/serve/listener"
)

// Options configure a gateway. Log is required.
type Options struct {
	Log       logrus.FieldLogger
	AccessLog logrus.FieldLogger // nil if there is none
	Audit     *audit.Log         // of all requests; nil if there is none
	// Certificate returns the certificate for host names whose cluster has none; nil if there is no such certificate.
	Certificate func() (*tls.Certificate, error)
	// StrictNames rejects a request whose host name belongs to another cluster than the name that the TLS connection is for.
	StrictNames bool
	// SharedWatches serves lists and watches of common kinds from one watch for all clients, see watchcache.
	SharedWatches bool
	// ReviewInterval is the time after which a cluster is asked again whether a shared watch is allowed, or up to a quarter more. Zero is 4
	// minutes. Unless TTL says otherwise, tokens and permissions are cached for a quarter of it, at most a minute, so that the answer is new.
	ReviewInterval time.Duration
	// Trimming is the smaller form of objects for clients that ask for it; nil if there is none.
	Trimming   *watchcache.Trimming
	Audiences  []string              // that tokens must be meant for, see identity.NewTokens
	FrontProxy authenticator.Request // nil if there is none
	// OwnerOnly restricts the gateway to one client, the owner of the credentials in the UpstreamClusters, who presents a certificate signed
	// by secureServing.clientCAData. Requests are sent with the credentials of clientConfig, and impersonation headers are passed on for the
	// cluster to decide. Tokens and FrontProxy are not accepted, and watches are not shared.
	OwnerOnly bool
	// Users are those that UpstreamClusters may refer to in clientConfig.credentials; nil if there are none.
	Users *credential.Users
	// Secrets are those that UpstreamClusters may refer to; nil if there are none.
	Secrets corev1.SecretInterface
	// CredentialsEvery is how often these are looked at again; 0 is 10 seconds for files, 30 for Secrets.
	CredentialsEvery time.Duration
	TTL              identity.TTL
	Timeouts         Timeouts
	// Connections of clients at once; zero is as many as a quarter of the memory that Go may use is enough for, 512 to 16,384. A quarter of
	// them may be from one address.
	Connections int
	// Clusters is how many clusters are served at once, the oldest; zero is as many as half of the memory that Go may use is enough for, 64 to
	// 4,096.
	Clusters   int
	Probe      upstream.Probe
	Registerer prometheus.Registerer // nil registers no metrics
}

// Timeouts limit how long a client may take to send a request and to receive a response. Zero values are the defaults.
type Timeouts struct {
	Header time.Duration // with the TLS handshake; 10 seconds
	Body   time.Duration // a minute; streams have no limit
	Write  time.Duration // to accept a part of the response; a minute; streams have no limit
}

// Gateway serves requests for clusters. Make it with New.
type Gateway struct {
	opts Options
	set  *Set
	// credentials are those of clientConfig that change.
	credentials *credential.Keeper
	infos       *request.RequestInfoFactory
	proxy       httputil.ReverseProxy // what all requests have in common, see forward
	metrics     *metrics
	shared      shared
	copies      *budget     // of bodies
	divides     atomic.Bool // limits, with other instances
	source      atomic.Pointer[func() registry.State]
	stops       atomic.Bool // no longer ready
	reports     atomic.Bool // writes the status of clusters for all instances
	began       time.Time
}

// New makes a gateway, which serves until ctx ends.
func New(ctx context.Context, opts Options) *Gateway {
	opts.Timeouts.Header = cmp.Or(opts.Timeouts.Header, 10*time.Second)
	opts.Timeouts.Body = cmp.Or(opts.Timeouts.Body, time.Minute)
	opts.Timeouts.Write = cmp.Or(opts.Timeouts.Write, time.Minute)
	if opts.TTL.Positive == 0 && opts.ReviewInterval > 0 {
		opts.TTL.Positive = min(opts.ReviewInterval/4, time.Minute)
	}
	g := &Gateway{
		opts: opts, metrics: newMetrics(),
		infos: requestInfos(), proxy: httputil.ReverseProxy{ErrorLog: listener.ErrorLog(opts.Log)}, began: time.Now(), copies: allCopies(),
	}
	g.credentials = credential.New(ctx, credential.Options{
		Log: opts.Log, Users: opts.Users, Secrets: opts.Secrets, Every: opts.CredentialsEvery, Changed: func(name string) { g.set.renew(name) },
	})
	g.set = newSet(func(name string) (*tenant, error) { return g.newTenant(ctx, name) }, g.credentials, clusterLimit(opts.Clusters))
	if opts.Registerer != nil {
		opts.Registerer.MustRegister(g.metrics, &collector{g})
	}
	return g
}

// requestInfos reads what a request is about from its path.
func requestInfos() *request.RequestInfoFactory {
	return &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
}

// Source sets what says whether clusters can be read. Without it, the gateway is not ready.
func (g *Gateway) Source(state func() registry.State) { g.source.Store(&state) }

func (g *Gateway) sourceState() registry.State {
	if state := g.source.Load(); state != nil {
		return (*state)()
	}
	return registry.State{}
}

// Clusters is the set of clusters that are served.
func (g *Gateway) Clusters() *Set { return g.set }

var errNoCertificate = errors.New("no certificate for this name")

// tlsConfig selects the certificate of a connection by the name that the client asks for. Certificates of clients are
// verified by each request, by the CA of the cluster that its host name selects.
func (g *Gateway) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if t := g.set.find(hello.ServerName); t != nil && t.certificate() != nil {
				return t.certificate(), nil
			}
			if g.opts.Certificate == nil {
				return nil, errNoCertificate
			}
			return g.opts.Certificate()
		},
	}
}

// misdirected reports whether a request is for another cluster than its connection.
func (g *Gateway) misdirected(r *http.Request, t *tenant) bool {
	if !g.opts.StrictNames || r.TLS == nil || r.TLS.ServerName == "" {
		return false
	}
	return g.set.find(r.TLS.ServerName) != t
}

// connContext prepares what is remembered about a connection.
func connContext(ctx context.Context, conn net.Conn) context.Context {
	return withCopies(identity.WithConnection(ctx, conn.RemoteAddr()))
}
