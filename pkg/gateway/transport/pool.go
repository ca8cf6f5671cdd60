package transport

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// pool is the http2.ClientConnPool of one endpoint: it packs requests into the oldest connections with room, and dials only
// while requests wait that the connections on their way will not serve.
type pool struct {
	transport *http2.Transport
	dial      func(context.Context) (net.Conn, error)
	timeout   time.Duration // for dialing, the handshake and the first answer

	mu       sync.Mutex
	conns    []*http2.ClientConn
	waiting  list.List // of chan grant, each with room for one
	dials    map[*dialing]bool
	limit    int  // requests that the endpoint serves on one connection, as far as known; zero means unknown
	draining bool // connections take no further request
	closed   bool
	done     sync.WaitGroup
}

// grant is a connection with a reserved stream, or the error that ends the wait.
type grant struct {
	conn *http2.ClientConn
	err  error
}

// dialing is a connection on its way.
type dialing struct{ cancel context.CancelFunc }

// GetClientConn returns a connection on which one stream is reserved for req. All connections go to one endpoint, whatever
// the address.
func (p *pool) GetClientConn(req *http.Request, _ string) (*http2.ClientConn, error) {
	ctx := req.Context()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, notConnected(errClosed)
	}
	if conn := p.reserve(); conn != nil {
		p.mu.Unlock()
		return conn, nil
	}
	granted := make(chan grant, 1)
	place := p.waiting.PushBack(granted)
	p.startDials(ctx)
	p.mu.Unlock()

	select {
	case g := <-granted:
		return g.conn, g.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case g := <-granted: // too late to withdraw; the request releases its stream when it fails
		return g.conn, g.err
	default:
		p.waiting.Remove(place)
		return nil, notConnected(ctx.Err())
	}
}

// reserve returns the first connection with a free stream, and reserves the stream. Filling connections in order lets the
// last ones become idle when there are fewer requests.
func (p *pool) reserve() *http2.ClientConn {
	for _, conn := range slices.Clone(p.conns) {
		if !conn.ReserveNewRequest() {
			continue
		}
		if !conn.State().Closed {
			return conn
		}
		p.remove(conn) // it ended before its first request
	}
	return nil
}

// startDials opens as many connections as the waiting requests need, given what is known of the endpoint's limit: one at a
// time before the first answer. Connecting does not end with the request that caused it.
func (p *pool) startDials(ctx context.Context) {
	for p.waiting.Len() > len(p.dials)*p.limit {
		if p.limit == 0 && len(p.dials) > 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		d := &dialing{cancel: cancel}
		if p.dials == nil {
			p.dials = map[*dialing]bool{}
		}
		p.dials[d] = true
		p.done.Add(1)
		go func() {
			defer p.done.Done()
			defer cancel()
			conn, err := p.connect(ctx)
			p.connected(ctx, d, conn, err)
		}()
	}
}

// connect opens a connection and waits for the endpoint's first answer on it, which comes after its SETTINGS: from then on
// the connection knows how many streams it may carry.
func (p *pool) connect(ctx context.Context) (*http2.ClientConn, error) {
	raw, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := p.transport.NewClientConn(raw)
	if err != nil {
		_ = raw.Close() // the first error matters
		return nil, err
	}
	if err := conn.Ping(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// connected hands the streams of a new connection to waiting requests. If it failed and no other is on its way, all of them
// fail.
func (p *pool) connected(ctx context.Context, d *dialing, conn *http2.ClientConn, err error) {
	p.mu.Lock()
	delete(p.dials, d)
	if err == nil {
		err = p.use(conn)
	}
	if err == nil {
		p.startDials(ctx)
	} else if len(p.dials) == 0 {
		p.fail(err)
	}
	idle := p.draining && err == nil && isIdle(conn)
	p.mu.Unlock()
	if conn != nil && (err != nil || idle) {
		_ = conn.Close()
	}
}

// use adds a connection and hands out its streams.
func (p *pool) use(conn *http2.ClientConn) error {
	if p.closed {
		return errClosed
	}
	p.limit = max(1, int(conn.State().MaxConcurrentStreams))
	wanted := p.waiting.Len() > 0
	granted := 0
	for ; p.waiting.Len() > 0 && conn.ReserveNewRequest(); granted++ {
		p.next() <- grant{conn: conn}
	}
	if wanted && granted == 0 {
		return errNoStreams // another connection would be no better
	}
	p.conns = append(p.conns, conn)
	if p.draining {
		conn.SetDoNotReuse()
	}
	return nil
}

// next removes the request that has waited longest.
func (p *pool) next() chan<- grant {
	return p.waiting.Remove(p.waiting.Front()).(chan grant)
}

// fail ends the wait of all requests.
func (p *pool) fail(err error) {
	for p.waiting.Len() > 0 {
		p.next() <- grant{err: notConnected(err)}
	}
}

// pinged is how many connections are asked for a sign of life at once.
const pinged = 3

// ping returns nil once the endpoint answers on a connection, or if there is none.
func (p *pool) ping(ctx context.Context) error {
	p.mu.Lock()
	conns := slices.Clone(p.conns[:min(pinged, len(p.conns))])
	p.mu.Unlock()
	if len(conns) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan error, len(conns))
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel()
	for _, conn := range conns {
		asked.Go(func() { answers <- conn.Ping(ctx) })
	}
	var err error
	for range conns {
		if err = <-answers; err == nil {
			return nil
		}
	}
	if ctx.Err() == nil {
		return nil // connections have ended, which their requests notice
	}
	return err
}

// MarkDead forgets a connection that has ended.
func (p *pool) MarkDead(conn *http2.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(conn)
}

func (p *pool) remove(conn *http2.ClientConn) {
	p.conns = slices.DeleteFunc(p.conns, func(c *http2.ClientConn) bool { return c == conn })
}

// streams counts the requests in flight.
func (p *pool) streams() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, conn := range p.conns {
		n += conn.State().StreamsActive
	}
	return n
}

// closeIdle closes the connections without requests.
func (p *pool) closeIdle() { p.retire(isIdle) }

// drain lets every connection end with its last request.
func (p *pool) drain() {
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()
	p.retire(func(*http2.ClientConn) bool { return true })
}

// retire lets some connections end with their last request, and closes those that have none.
func (p *pool) retire(which func(*http2.ClientConn) bool) {
	var idle []*http2.ClientConn
	p.mu.Lock()
	for _, conn := range p.conns {
		if which(conn) {
			conn.SetDoNotReuse() // nothing reserves a stream from here on
			if isIdle(conn) {
				idle = append(idle, conn)
			}
		}
	}
	p.mu.Unlock()
	for _, conn := range idle {
		_ = conn.Close()
	}
}

// close ends everything, requests in flight included, and waits for connections on their way.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.fail(errClosed)
	for d := range p.dials {
		d.cancel()
	}
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
	p.done.Wait()
}

func isIdle(conn *http2.ClientConn) bool {
	s := conn.State()
	return s.StreamsActive == 0 && s.StreamsReserved == 0 && s.StreamsPending == 0
}
