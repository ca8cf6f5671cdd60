package gateway

import (
	"bytes"
	"context"
	"errors"
	"log" //nolint:depguard // a server logs errors of connections there; they end in the log given
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

// Shutdown is how a gateway stops.
type Shutdown struct {
	Delay  time.Duration // from the signal until no new connections are accepted: load balancers notice meanwhile
	Spread time.Duration // over which watches and other streams end, each at a random time
	Grace  time.Duration // for all other requests
}

// Serve serves on a listener, with TLS, until ctx ends, and then stops in order.
func (g *Gateway) Serve(ctx context.Context, listener net.Listener, how Shutdown) error {
	server := g.server()
	stopped := make(chan struct{})
	failed := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
		case <-failed:
			return
		}
		g.stop(context.WithoutCancel(ctx), server, how)
	}()
	err := server.ServeTLS(listener, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	} else {
		close(failed)
	}
	<-stopped
	g.set.close()
	return err
}

// stop lets requests end. Clients of HTTP/2 are told to use another connection.
func (g *Gateway) stop(ctx context.Context, server *http.Server, how Shutdown) {
	g.stops.Store(true)
	time.Sleep(how.Delay)
	g.shared.end(how.Spread)
	for _, t := range g.set.all() {
		t.cluster.EndStreams(how.Spread)
	}
	ctx, cancel := context.WithTimeout(ctx, how.Spread+how.Grace)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		g.opts.Log.Warn("requests were still in progress at the end of the grace period")
		_ = server.Close()
	}
}

func (g *Gateway) server() *http.Server {
	return &http.Server{
		Handler: g, TLSConfig: g.tlsConfig(), ConnContext: connContext, ErrorLog: log.New(connectionLog{g.opts.Log}, "", 0),
		// Bodies have a deadline of their own, since watches have none.
		ReadHeaderTimeout: g.opts.Timeouts.Header, IdleTimeout: 3 * time.Minute, MaxHeaderBytes: 64 << 10,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 250, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: time.Minute,
		},
	}
}

// connectionLog logs the errors of connections.
type connectionLog struct{ log logrus.FieldLogger }

// Write logs one line.
func (c connectionLog) Write(line []byte) (int, error) {
	c.log.WithField("cause", string(bytes.TrimSpace(line))).Debug("a connection failed")
	return len(line), nil
}
