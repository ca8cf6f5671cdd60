package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/netloom/netloom/pkg/serve/listener"
)

// Shutdown is how a gateway stops.
type Shutdown struct {
	Delay  time.Duration // from the signal until no new connections are accepted: load balancers notice meanwhile
	Spread time.Duration // over which watches and other streams end, each at a random time
	Grace  time.Duration // for all other requests
}

// Serve serves on a listener, with TLS, until ctx ends, and then stops in order.
func (g *Gateway) Serve(ctx context.Context, on net.Listener, how Shutdown) error {
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
	err := server.ServeOn(on)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	} else {
		close(failed)
	}
	<-stopped
	g.Close()
	return err
}

// Close stops what goes on for the clusters, such as probes. Serve does so when it ends; a gateway that never served, or was given a cluster
// after that, needs it.
func (g *Gateway) Close() {
	g.set.close()
	g.credentials.Close()
}

// stop drains the server; HTTP/2 clients receive GOAWAY.
func (g *Gateway) stop(ctx context.Context, server *listener.Server, how Shutdown) {
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

func (g *Gateway) server() *listener.Server {
	server := listener.New(listener.Options{
		Handler: g, TLS: g.tlsConfig(), Log: g.opts.Log, Limits: g.limits(), HeaderBytes: 64 << 10, Header: g.opts.Timeouts.Header,
		Idle: 3 * time.Minute, Streams: 250, // bodies have a deadline of their own, since watches have none
	})
	server.ConnContext = connContext
	return server
}

// How many connections clients may have, by the memory that Go may use, in bytes. A TLS connection with a request takes 30 to 100 KiB.
const (
	connectionBytes   = 128 << 10
	leastConnections  = 512
	mostConnections   = 16_384
	connectionsShares = 4 // as many addresses with all that one may have use up all connections
)

// limits are those of the connections of clients: a quarter of the memory that Go may use.
func (g *Gateway) limits() listener.Limits {
	most := g.opts.Connections
	if most <= 0 {
		most = int(max(leastConnections, min(mostConnections, debug.SetMemoryLimit(-1)/4/connectionBytes)))
	}
	return listener.Limits{Connections: most, PerAddress: max(1, most/connectionsShares), Reserve: 16}
}
