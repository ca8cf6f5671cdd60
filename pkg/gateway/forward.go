package gateway

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// forward sends the request to an API server, and its response to the client.
func (g *Gateway) forward(x *exchange) {
	impersonation, err := g.impersonation(x)
	if err != nil {
		x.refuse(refusal{http.StatusForbidden, "invalid-identity", err.Error(), 0})
		return
	}
	defer g.keepBody(x)()
	buffers := &large
	if x.streams {
		buffers = &small
	}
	proxy := g.proxy
	proxy.Transport, proxy.BufferPool, proxy.FlushInterval = x.route, buffers, flushInterval(x.streams)
	// Rewrite runs after the headers of the connection were removed, so that a client cannot name one that is set here as one.
	proxy.Rewrite = func(p *httputil.ProxyRequest) {
		identity.Strip(p.Out.Header)
		maps.Copy(p.Out.Header, impersonation)
		p.Out.Header.Set(auditHeader, x.auditID)
		p.Out.Header.Del("X-Real-Ip") // API servers write it into the audit log, as they do with X-Forwarded-For
		p.Out.Header.Del("Expect")    // the server has told the client to go on; the API server would do so again
		p.Out.Trailer = nil
		p.SetXForwarded()
	}
	proxy.ErrorHandler = func(_ http.ResponseWriter, _ *http.Request, err error) { g.failed(x, err) }
	ctx := upstream.WithNote(x.r.Context(), &x.sentTo)
	if x.streams {
		ctx = upstream.WithStream(ctx)
	}
	proxy.ServeHTTP(x.w, x.r.WithContext(ctx))
}

// impersonation returns the headers for impersonation: of the client, or those that the owner has sent.
func (g *Gateway) impersonation(x *exchange) (http.Header, error) {
	if g.opts.OwnerOnly {
		return identity.Asked(x.r.Header), nil
	}
	return identity.Impersonation(x.r.Context(), x.effective)
}

// flushInterval has every event of a stream sent at once.
func flushInterval(streams bool) (d time.Duration) {
	if streams {
		return -1
	}
	return 0
}

// failed answers a request that an API server did not answer.
func (g *Gateway) failed(x *exchange, err error) {
	switch {
	case x.r.Context().Err() != nil:
		// Without an answer, a client that only was too slow would read success.
		x.refuse(refusal{http.StatusRequestTimeout, "canceled", "the request was not received in time", 0})
		x.w.code = statusClientClosed
	case errors.Is(err, upstream.ErrNoEndpoint):
		x.refuse(refusal{http.StatusServiceUnavailable, "no-endpoint", "no API server of cluster " + x.tenant.cluster.Name() + " is ready", soon()})
	case upstream.NotProcessed(err):
		// Clients may send it again, and those that are built on client-go do.
		x.refuse(refusal{http.StatusServiceUnavailable, "not-processed", "the API server did not process the request, which can be sent again", 1})
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, upstream.ErrSilent):
		x.refuse(refusal{http.StatusGatewayTimeout, "timeout", "the API server did not answer in time", 0})
	default:
		// The error may name addresses; the log has it.
		g.opts.Log.WithError(err).WithField("cluster", x.tenant.cluster.Name()).WithField("endpoint", x.sentTo.Endpoint).Debug("a request failed")
		x.refuse(refusal{http.StatusBadGateway, "upstream", "the API server did not answer", 0})
	}
}

// statusClientClosed stands in logs and metrics for a request that its client gave up.
const statusClientClosed = 499

// buffers are reused for copying responses.
type buffers struct {
	size int
	pool sync.Pool
}

// Streams have small buffers: there are thousands of them, which send little.
var (
	large = buffers{size: 32 << 10} //nolint:gochecknoglobals // it holds memory only
	small = buffers{size: 4 << 10}  //nolint:gochecknoglobals // it holds memory only
)

// Get returns a buffer.
func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, b.size)
}

// Put takes a buffer back.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
