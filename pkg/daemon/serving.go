package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log" //nolint:depguard // what a server has to say of a connection goes there; it ends in the log given
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/httpauth"
	"github.com/netloom/netloom/pkg/httpbody"
	"github.com/netloom/netloom/pkg/webhook/certs"
)

// Serving says how requests are answered. The zero value answers anybody, in clear.
type Serving struct {
	TLS       bool   // 1.2 and up
	Cert, Key string // files of the certificate; "" has netloom make one that nobody can check

	Kubernetes bool                 // let a Kubernetes API decide who may read what
	Client     kubernetes.Interface // which one; nil is that which is read

	Hosts []string // host names that requests may be for, see httpauth.Hosts
}

// The limits of what a daemon asks an API about requests. They are apart from those of all else that it asks: a flood of
// requests keeps it from nothing.
const (
	reviewsPerSecond = 20
	reviewsAtOnce    = 40
	reviewTimeout    = 5 * time.Second
)

// publicPaths are what probes ask for. They have no token.
func publicPaths() []string { return []string{"/healthz", "/readyz"} }

// door is where requests come in.
type door struct {
	certificate func() (*tls.Certificate, error) // nil is in clear
	guard       *httpauth.Guard                  // nil lets everybody in
	loopback    bool                             // only this machine is served
	hosts       []string                         // see httpauth.Hosts
	log         logrus.FieldLogger
}

// newDoor makes the door that the options ask for.
func newDoor(d *Daemon) (*door, error) {
	s := d.opts.Serving
	o := &door{hosts: s.Hosts, log: d.log}
	switch {
	case s.TLS && s.Cert != "":
		o.certificate = certs.NewFiles(s.Cert, s.Key, d.log).Certificate
	case s.TLS:
		o.certificate = certs.NewSelf("netloom", "localhost").Certificate
	}
	if !s.Kubernetes {
		return o, nil
	}
	client := s.Client
	if client == nil {
		if d.clients == nil {
			return nil, errors.New("requests cannot be authenticated: no Kubernetes API is read that could be asked")
		}
		var err error
		if client, err = kubernetes.NewForConfig(reviewing(d.clients.config)); err != nil {
			return nil, fmt.Errorf("connect to Kubernetes: %w", err)
		}
	}
	o.guard = httpauth.New(httpauth.Options{
		Client: client, Public: publicPaths(), Log: d.log, Count: d.metrics.Judged, Timeout: reviewTimeout,
	})
	return o, nil
}

// reviewing is how the API is asked about requests: with limits and connections of its own. Configurations that say the same
// share connections, but for those that dial by themselves.
func reviewing(of *rest.Config) *rest.Config {
	config := rest.CopyConfig(of)
	config.QPS, config.Burst, config.RateLimiter, config.Timeout = reviewsPerSecond, reviewsAtOnce, nil, reviewTimeout
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: reviewTimeout}).DialContext
	}
	return config
}

// of is the door of the web page and of debugging: where only the same machine reaches them, everybody may, in clear.
func (o *door) of(listener net.Listener) *door {
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return &door{loopback: true, log: o.log}
	}
	return o
}

// serve has a server of the door answer until ctx ends.
func (o *door) serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		_ = server.Shutdown(grace)
	}()
	serve := server.Serve
	if o.certificate != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}

// server is an HTTP server behind the door. An answer may take httpbody.SendTime from when its request was read; who needs
// longer, such as a stream, a profile or a plan, moves the deadline of its own.
func (o *door) server(handler http.Handler) *http.Server {
	if o.guard != nil {
		handler = o.guard.Wrap(handler)
	}
	handler = httpauth.Hosts(handler, o.loopback, o.hosts)
	server := &http.Server{
		Handler: handler, ErrorLog: log.New(connectionLog{o.log}, "", 0),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: httpbody.SendTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	if o.certificate != nil {
		server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return o.certificate() },
		}
	}
	return server
}

// connectionLog takes what a server says of connections that fail: a probe that hangs up, somebody who tries what is there.
type connectionLog struct{ log logrus.FieldLogger }

// Write logs one line.
func (c connectionLog) Write(line []byte) (int, error) {
	c.log.WithField("cause", string(bytes.TrimSpace(line))).Debug("a connection failed")
	return len(line), nil
}
