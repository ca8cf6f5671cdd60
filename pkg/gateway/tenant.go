package gateway

import (
	"context"
	"crypto/tls"
	"strings"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
)

// tenant is one cluster that is served, and what is known about its clients.
type tenant struct {
	cluster *upstream.Cluster
	authn   *identity.Authenticator
	access  authorizer.Authorizer
	cache   *watchcache.Cache // nil if watches are not shared
	log     logrus.FieldLogger

	// The lock of Set guards these.
	given *v1alpha1.UpstreamCluster // the newest version, without the credentials that it refers to
	dates dates                     // of the version that is served
}

// newTenant makes a cluster that serves nothing yet.
func (g *Gateway) newTenant(ctx context.Context, name string) (*tenant, error) {
	log := g.opts.Log.WithField("cluster", name)
	cluster := upstream.New(ctx, name, upstream.Options{
		Log: log, Refused: func() { g.credentials.Refused(name) }, Probe: g.opts.Probe,
		Count: func(e upstream.Event) { g.metrics.events.WithLabelValues(name, string(e)).Inc() },
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
		cluster: cluster, log: log, access: identity.NewAccess(client, g.opts.TTL),
		authn: &identity.Authenticator{
			ClientCAs: cluster.ClientCAs, Tokens: identity.NewTokens(client, g.opts.Audiences, g.opts.TTL), FrontProxy: g.opts.FrontProxy,
		},
	}
	if g.opts.OwnerOnly {
		t.authn = &identity.Authenticator{ClientCAs: cluster.ClientCAs}
		return t, nil
	}
	if g.opts.SharedWatches {
		t.cache, err = watchcache.New(watchcache.Config{
			Upstream: cluster, Authorizer: t.access, Log: log, Trimming: g.opts.Trimming, ReviewInterval: g.opts.ReviewInterval,
		})
	}
	return t, err
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
