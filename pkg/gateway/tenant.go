package gateway

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
)

// tenant is one cluster that is served, and what is known about its clients.
type tenant struct {
	cluster *upstream.Cluster
	authn   *identity.Authenticator
	access  authorizer.Authorizer
	cache   *watchcache.Cache // nil if watches are not shared
}

// newTenant makes a cluster that serves nothing yet.
func (g *Gateway) newTenant(ctx context.Context, name string) (*tenant, error) {
	cluster := upstream.New(ctx, name, upstream.Options{
		Log: g.opts.Log.WithField("cluster", name), Probe: g.opts.Probe,
		NewTransport: newTransport,
		Count:        func(e upstream.Event) { g.metrics.events.WithLabelValues(name, string(e)).Inc() },
	})
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "https://upstream", Transport: cluster, QPS: -1, // the cluster has a limit of its own
		ContentConfig: rest.ContentConfig{
			ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	})
	if err != nil {
		cluster.Close()
		return nil, err
	}
	t := &tenant{
		cluster: cluster, access: identity.NewAccess(client, g.opts.TTL),
		authn: &identity.Authenticator{
			ClientCAs: cluster.ClientCAs, Tokens: identity.NewTokens(client, g.opts.Audiences, g.opts.TTL), FrontProxy: g.opts.FrontProxy,
		},
	}
	if g.opts.SharedWatches {
		t.cache, err = watchcache.New(watchcache.Config{
			Upstream: streaming{cluster}, Authorizer: t.access, Log: g.opts.Log.WithField("cluster", name), Trimming: g.opts.Trimming,
		})
	}
	return t, err
}

// streaming marks watches, so that they end with their API server.
type streaming struct{ *upstream.Cluster }

// RoundTrip sends a request of the gateway itself.
func (s streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		r = r.WithContext(upstream.WithStream(r.Context()))
	}
	return s.Cluster.RoundTrip(r)
}

// draining is a transport whose connections close once they are idle.
type draining struct{ *transport.Transport }

// Drain closes idle connections; the others are closed some time after their last request.
func (t draining) Drain() { t.CloseIdleConnections() }

// Connections counts connections of both protocols.
func (t draining) Connections() (opened uint64, open int) {
	s := t.Stats()
	return s.Dialed, s.Open
}

func newTransport(endpoint *url.URL, config *v1alpha1.ClientConfig) (upstream.Transport, error) {
	t, err := transport.New(endpoint, transport.Config{
		Insecure: config.Insecure, CA: config.CAData, Cert: config.CertData, Key: config.KeyData, ServerName: config.ServerName,
	})
	return draining{t}, err
}

// hosts returns the host names that the cluster asks for.
func (t *tenant) hosts() []string {
	out := []string{strings.ToLower(t.cluster.Name())}
	if object := t.cluster.Object(); object != nil {
		out = append(out, object.Spec.SecureServing.ServerNames...)
	}
	return out
}

func (t *tenant) certificate() *tls.Certificate { return t.cluster.ServingCertificate() }

func (t *tenant) close() {
	if t.cache != nil {
		t.cache.Close()
	}
	t.cluster.Close()
}
