package listener

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// Limits bound the connections of a listener.
type Limits struct {
	Connections int // in total
	PerAddress  int // of one client address
	// Reserve is how many more there may be, of addresses that have no other one: if all are in use, health checks still get through.
	Reserve int
}

// noticePause is the least time between two lines in the log that connections are turned away.
const noticePause = time.Minute

// listener is a net.Listener with limits.
type listener struct {
	net.Listener
	limits Limits
	log    logrus.FieldLogger

	mu      sync.Mutex
	open    int
	waiting *list.List // of *conn: those without a request in progress, the longest waiting first
	clients map[netip.Addr]*client
	turned  int       // connections that were turned away since the last notice
	noticed time.Time // when that was
}

// client is an address with connections.
type client struct {
	open    int
	waiting *list.List // of *conn, likewise
}

// limit bounds the connections that inner accepts.
func limit(inner net.Listener, limits Limits, log logrus.FieldLogger) *listener {
	return &listener{Listener: inner, limits: limits, log: log, waiting: list.New(), clients: map[netip.Addr]*client{}}
}

// conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	of   *listener
	from netip.Addr
	once sync.Once

	// Guarded by the mutex of the listener; nil while a request is in progress.
	atAll, atClient *list.Element
}

// Close ends the connection.
func (c *conn) Close() error {
	c.once.Do(func() { c.of.forget(c) })
	return c.Conn.Close()
}

// Accept returns the next connection that may stay.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, of: l, from: addressOf(inner)}
		admitted, victim := l.admit(c)
		if victim != nil {
			_ = victim.Close()
		}
		if admitted {
			return c, nil
		}
		_ = inner.Close()
	}
}

func addressOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// admit decides about a new connection, and which other one has to give way to it.
func (l *listener) admit(c *conn) (admitted bool, victim *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.clients[c.from]
	switch {
	case own != nil && own.open >= l.limits.PerAddress:
		victim = first(own.waiting)
	case l.open >= l.limits.Connections:
		victim = first(l.waiting)
		if victim == nil && own == nil && l.open < l.limits.Connections+l.limits.Reserve {
			l.add(c)
			return true, nil
		}
	default:
		l.add(c)
		return true, nil
	}
	l.notice()
	if victim == nil {
		return false, nil
	}
	l.wait(victim, false) // it is closed only once
	l.add(c)
	return true, victim
}

func first(waiting *list.List) *conn {
	if e := waiting.Front(); e != nil {
		return e.Value.(*conn)
	}
	return nil
}

// add counts a connection, which waits for a request. The lock is held.
func (l *listener) add(c *conn) {
	own := l.clients[c.from]
	if own == nil {
		own = &client{waiting: list.New()}
		l.clients[c.from] = own
	}
	own.open++
	l.open++
	l.wait(c, true)
}

// wait records whether a connection waits for a request. The lock is held.
func (l *listener) wait(c *conn, is bool) {
	own := l.clients[c.from]
	switch {
	case own == nil || is == (c.atAll != nil):
	case is:
		c.atAll, c.atClient = l.waiting.PushBack(c), own.waiting.PushBack(c)
	default:
		l.waiting.Remove(c.atAll)
		own.waiting.Remove(c.atClient)
		c.atAll, c.atClient = nil, nil
	}
}

// forget no longer counts a connection.
func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait(c, false)
	l.open--
	own := l.clients[c.from]
	if own.open--; own.open == 0 {
		delete(l.clients, c.from)
	}
}

// notice counts a connection that was turned away, and says so from time to time. The lock is held.
func (l *listener) notice() {
	l.turned++
	now := time.Now()
	if now.Sub(l.noticed) < noticePause {
		return
	}
	l.log.WithFields(logrus.Fields{"address": l.Addr().String(), "connections": l.open, "closed": l.turned}).
		Warn("there are too many connections: those that wait longest are closed")
	l.turned, l.noticed = 0, now
}

// state follows the states of connections; it is for http.Server.ConnState.
func state(of net.Conn, is http.ConnState) {
	if secure, ok := of.(interface{ NetConn() net.Conn }); ok {
		of = secure.NetConn()
	}
	c, ok := of.(*conn)
	if !ok {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch is {
	case http.StateActive:
		c.of.wait(c, false)
	case http.StateIdle:
		c.of.wait(c, true)
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}
