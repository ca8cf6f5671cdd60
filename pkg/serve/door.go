// Package serve answers HTTP requests: its doors decide who gets in and how, and its handlers serve health, metrics and
// debugging.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/serve/auth"
	"github.com/netloom/netloom/pkg/serve/httpbody"
	"github.com/netloom/netloom/pkg/serve/listener"
	"github.com/netloom/netloom/pkg/serve/webhook/certs"
)

// Options configures how requests are answered. The zero value admits everyone, without TLS.
type Options struct {
	TLS       bool   // 1.2 and up
	Cert, Key string // files of the certificate; "" creates one that clients cannot verify

	Kubernetes bool                 // let a Kubernetes API decide who may read what
	Client     kubernetes.Interface // of that API; nil is the one that is read

	Hosts []string // host names that requests may be for, see auth.Hosts
}

// The limits for authentication and authorization requests to an API. They are separate from those of all other requests to
// it: a flood of requests delays nothing else.
const (
	reviewsPerSecond = 20
	reviewsAtOnce    = 40
	reviewTimeout    = 5 * time.Second
)

// publicPaths lists the paths of probes, which have no token.
func publicPaths() []string { return []string{"/healthz", "/readyz"} }

// Door accepts requests. Make it with New.
type Door struct {
	certificate func() (*tls.Certificate, error) // nil means no TLS
	guard       *auth.Guard                      // nil admits everyone
	loopback    bool                             // only serves this machine
	hosts       []string                         // see auth.Hosts
	log         logrus.FieldLogger
}

// New makes the door that options describe. config is the Kubernetes API that is read, nil if none is. count is called with
// each decision about a request.
func New(opts Options, config *rest.Config, count func(result string), log logrus.FieldLogger) (*Door, error) {
	d := &Door{hosts: opts.Hosts, log: log}
	switch {
	case opts.TLS && opts.Cert != "":
		d.certificate = certs.NewFiles(opts.Cert, opts.Key, log).Certificate
	case opts.TLS:
		d.certificate = certs.NewSelf("netloom", "localhost").Certificate
	}
	if !opts.Kubernetes {
		return d, nil
	}
	client := opts.Client
	if client == nil {
		if config == nil {
			return nil, errors.New("requests cannot be authenticated: netloom reads no Kubernetes API that could review tokens")
		}
		var err error
		if client, err = kubernetes.NewForConfig(reviewing(config)); err != nil {
			return nil, fmt.Errorf("connect to Kubernetes: %w", err)
		}
	}
	d.guard = auth.New(auth.Options{Client: client, Public: publicPaths(), Log: log, Count: count, Timeout: reviewTimeout})
	return d, nil
}

// Guarded reports whether requests have to be authenticated.
func (d *Door) Guarded() bool { return d.guard != nil }

// Secure reports whether the door uses TLS.
func (d *Door) Secure() bool { return d.certificate != nil }

// Listen opens an address; what is the purpose to name in an error.
func (*Door) Listen(ctx context.Context, what, address string) (net.Listener, error) {
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return on, nil
}

// reviewing returns the configuration for reviews of requests: with limits and connections of its own. Equal configurations
// share connections, unless they have their own dialer.
func reviewing(of *rest.Config) *rest.Config {
	config := rest.CopyConfig(of)
	config.QPS, config.Burst, config.RateLimiter, config.Timeout = reviewsPerSecond, reviewsAtOnce, nil, reviewTimeout
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: reviewTimeout}).DialContext
	}
	return config
}

// Of returns the door of the web page and of debugging: if only this machine can reach them, they are open, without TLS.
func (d *Door) Of(on net.Listener) *Door {
	if at, ok := on.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return &Door{loopback: true, log: d.log}
	}
	return d
}

// shutdownGrace is how long requests in progress may take once ctx has ended.
const shutdownGrace = 3 * time.Second

// Serve has handler answer until ctx ends. Streams of the handler end with it if streams is true; other requests get a
// moment to finish.
func (d *Door) Serve(ctx context.Context, handler http.Handler, on net.Listener, streams bool) error {
	server := d.server(handler)
	if streams {
		server.BaseContext = func(net.Listener) context.Context { return ctx }
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		_ = server.Shutdown(grace)
	}()
	if err := server.ServeOn(on); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}

// server returns an HTTP server behind the door. A response may take httpbody.SendTime from when its request was read; a
// handler that needs longer, such as a stream, a profile or a plan, extends its deadline.
func (d *Door) server(handler http.Handler) *listener.Server {
	if d.guard != nil {
		handler = d.guard.Wrap(handler)
	}
	handler = auth.Hosts(handler, d.loopback, d.hosts)
	opts := listener.Options{Handler: handler, Log: d.log, Read: 30 * time.Second, Write: httpbody.SendTime}
	if d.certificate != nil {
		opts.TLS = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return d.certificate() },
		}
	}
	return listener.New(opts)
}
