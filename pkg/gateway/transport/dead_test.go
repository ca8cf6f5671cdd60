package transport_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/transport"
)

// wires is a network of one listener that lives in a bubble of testing/synctest.
type wires struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newWires() *wires { return &wires{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.accepted:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wires) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wires) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }

// dial connects to the listener.
func (w *wires) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.accepted <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestUnreachableEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			ours, _ := net.Pipe() // to what says nothing
			return ours, nil
		}
		u := &url.URL{Scheme: "https", Host: "192.0.2.1"}
		tr, err := transport.New(u, transport.Config{TLSTimeout: 20 * time.Millisecond, DialContext: dial})
		require.NoError(t, err)
		t.Cleanup(tr.Close)
		const n = 50
		var failed atomic.Int64
		var group sync.WaitGroup
		for range n {
			group.Go(func() {
				if _, err := send(tr, t.Context(), "/"); unconnected(err) { //nolint:bodyclose // there is no response
					failed.Add(1)
				}
			})
		}
		group.Wait()
		require.Equal(t, int64(n), failed.Load(), "all requests learn that nothing was sent")
		require.Equal(t, uint64(1), tr.Stats().Dialed, "requests wait for one attempt together")
		require.Zero(t, tr.Stats().Open)

		slow, err := transport.New(u, transport.Config{TLSTimeout: time.Hour, DialContext: dial})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		_, err = send(slow, ctx, "/") //nolint:bodyclose // there is no response
		require.ErrorIs(t, err, context.Canceled, "a client need not wait for the connection")
		require.Equal(t, time.Minute, time.Since(began))
		require.True(t, unconnected(err))
		slow.Close() // and the connection on its way does not keep Close waiting
		require.Equal(t, time.Minute, time.Since(began))
		_, err = send(slow, t.Context(), "/") //nolint:bodyclose // there is no response
		require.True(t, unconnected(err))
	})
}

func TestDeadConnectionsAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newWires()
		e := newEndpointOn(t, network, 100)
		config := e.config()
		config.PingAfter, config.PingTimeout = 10*time.Second, 5*time.Second
		var conns []*mutableConn
		config.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			c, err := network.dial(ctx, "", address)
			m := &mutableConn{Conn: c}
			conns = append(conns, m)
			return m, err
		}
		tr := e.transport(t, config)
		body := watch(t, tr, 1)[0]
		time.Sleep(time.Hour)
		require.Equal(t, uint64(1), tr.Stats().Dialed, "a connection without events lasts while pings are answered")
		conns[0].dead.Store(true)
		began := time.Now()
		_, err := io.Copy(io.Discard, body)
		require.Error(t, err, "the watch ends when the endpoint does not answer a ping")
		require.LessOrEqual(t, time.Since(began), config.PingAfter+config.PingTimeout)
		get(t, tr)
		require.Equal(t, uint64(2), tr.Stats().Dialed)
	})
}

// TestPingsNoticeSilence has an endpoint that stops answering, and one that is busy.
func TestPingsNoticeSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newWires()
		e := newEndpointOn(t, network, 100)
		config := e.config()
		var conn *mutableConn
		config.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			c, err := network.dial(ctx, "", address)
			conn = &mutableConn{Conn: c}
			return conn, err
		}
		tr := e.transport(t, config)
		ping := func() (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began := time.Now()
			err := tr.Ping(ctx)
			return time.Since(began), err
		}
		took, err := ping()
		require.NoError(t, err, "there is no connection")
		require.Zero(t, took)
		get(t, tr)
		took, err = ping()
		require.NoError(t, err)
		require.Zero(t, took)
		conn.dead.Store(true)
		took, err = ping()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, took)
	})
}

// mutableConn loses everything that is written once it is dead, as a network that drops packets does.
type mutableConn struct {
	net.Conn
	dead atomic.Bool
}

func (c *mutableConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}
