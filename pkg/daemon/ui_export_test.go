package daemon

import (
	"net"
	"net/http"
	"sync"
)

// HushUI replaces the listener of the web page by one without connections, and returns the page's handler, for tests in
// synthetic time, where nothing may wait for the network.
func (d *Daemon) HushUI() http.Handler {
	_ = d.page.listener.Close()
	d.page.listener = &deaf{addr: d.page.listener.Addr(), closed: make(chan struct{})}
	return d.page.Handler()
}

// deaf is a listener that cannot be reached.
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
