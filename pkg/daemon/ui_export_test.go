package daemon

import (
	"net"
	"net/http"
	"sync"
)

// HushUI has the web page listen to nobody, and returns what answers for it: tests ask that, where time is made up and
// nothing may wait for the network.
func (d *Daemon) HushUI() http.Handler {
	_ = d.page.listener.Close()
	d.page.listener = &deaf{addr: d.page.listener.Addr(), closed: make(chan struct{})}
	return d.page.Handler()
}

// deaf is a listener that nobody reaches.
type deaf struct {
	addr   net.Addr
	once   sync.Once
	closed chan struct{}
}

// Accept waits until the listener is closed.
func (l *deaf) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

// Close ends Accept.
func (l *deaf) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is the address that it would have.
func (l *deaf) Addr() net.Addr { return l.addr }
