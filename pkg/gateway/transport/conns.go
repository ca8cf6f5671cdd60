package transport

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// openConns is the set of open connections to the endpoint, whatever they are used for.
type openConns struct {
	began    time.Time    // when the set was made
	received atomic.Int64 // how often something was received
	last     atomic.Int64 // when that was, in nanoseconds since began; 0 if it never was

	mu     sync.Mutex
	open   map[*trackedConn]bool
	dialed uint64
	closed bool
}

// trackedConn leaves the set when it is closed.
type trackedConn struct {
	net.Conn
	set *openConns
}

func (c *trackedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.set.last.Store(int64(time.Since(c.set.began)))
		c.set.received.Add(1)
	}
	return n, err
}

func (c *trackedConn) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// add tracks conn, or closes it if the set is closed.
func (s *openConns) add(conn net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close() // it was never used
		return nil, errClosed
	}
	if s.open == nil {
		s.open = map[*trackedConn]bool{}
	}
	c := &trackedConn{Conn: conn, set: s}
	s.open[c] = true
	s.dialed++
	return c, nil
}

func (s *openConns) count() (dialed uint64, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialed, len(s.open)
}

// close closes all connections, and every connection that is added later.
func (s *openConns) close() {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close() // its users notice
	}
}
