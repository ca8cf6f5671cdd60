//go:build e2e

package kubelab

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Line is a connection to the API server that can be cut, frozen and slowed. A pod uses it by its environment, see Env.
type Line struct {
	lab     *Lab
	address string
	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while calls are refused
	rate     int          // bytes per second from the API server, on each connection; 0 is unlimited
	cut      bool
	accepted int
	open     map[*call]struct{}
}

// call is one connection through a line.
type call struct {
	near, far net.Conn
	frozen    bool // guarded by the line's mu
}

// NewLine opens a line, which is closed at the end of the test.
func (l *Lab) NewLine() *Line {
	l.tb.Helper()
	listener, err := new(net.ListenConfig).Listen(l.tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		l.tb.Fatalf("line to the API server: %v", err)
	}
	w := &Line{lab: l, address: listener.Addr().String(), listener: listener, open: map[*call]struct{}{}}
	w.running.Go(func() { w.serve(listener) })
	l.tb.Cleanup(func() {
		w.Refuse()
		w.running.Wait()
	})
	return w
}

// Env is the environment variable that makes a pod use the line.
func (w *Line) Env() string {
	_, port, err := net.SplitHostPort(w.address)
	if err != nil {
		w.lab.tb.Fatal(err)
	}
	return "KUBERNETES_SERVICE_PORT=" + port
}

// Cut ends every connection and accepts no more until Mend.
func (w *Line) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for c := range w.open {
		c.end()
	}
}

// Refuse ends every connection and refuses others until Mend, as a machine does on which no API server runs.
func (w *Line) Refuse() {
	w.mu.Lock()
	if w.listener != nil {
		_ = w.listener.Close()
		w.listener = nil
	}
	w.mu.Unlock()
	w.Cut()
}

// Mend ends Cut and Refuse.
func (w *Line) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
	if w.listener != nil {
		return
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", w.address)
	if err != nil {
		w.lab.tb.Fatalf("line to the API server: %v", err)
	}
	w.listener = listener
	w.running.Go(func() { w.serve(listener) })
}

// Freeze makes the open connections carry nothing any more, without an error on either side, as if a middlebox had lost
// their state. New connections work.
func (w *Line) Freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		c.frozen = true
	}
}

// Slow limits each connection to that many bytes per second from the API server; 0 removes the limit.
func (w *Line) Slow(rate int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rate = rate
}

// Accepted is how many connections there have been.
func (w *Line) Accepted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.accepted
}

// Frozen is how many connections are open but frozen.
func (w *Line) Frozen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for c := range w.open {
		if c.frozen {
			n++
		}
	}
	return n
}

func (w *Line) serve(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		w.running.Go(func() { w.carry(near) })
	}
}

// carry connects one caller.
func (w *Line) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return
	}
	far, err := new(net.Dialer).DialContext(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", w.lab.port))
	if err != nil {
		return
	}
	c := &call{near: near, far: far}
	w.mu.Lock()
	w.accepted++
	w.open[c] = struct{}{}
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.pump(c, far, near, false) })
	both.Go(func() { w.pump(c, near, far, true) })
	both.Wait()
	w.mu.Lock()
	delete(w.open, c)
	w.mu.Unlock()
}

// end closes both sides.
func (c *call) end() {
	_ = c.near.Close()
	_ = c.far.Close()
}

// pump copies one way until either side ends. On a frozen connection it reads and discards, so that it notices when the
// caller gives up.
func (w *Line) pump(c *call, to io.Writer, from io.Reader, slowed bool) {
	defer func() {
		w.mu.Lock()
		frozen := c.frozen
		w.mu.Unlock()
		if !frozen || !slowed { // the API server's end of a frozen connection sends nothing to the caller
			c.end()
		}
	}()
	chunk := make([]byte, 1024)
	for {
		n, err := from.Read(chunk)
		w.mu.Lock()
		frozen, rate := c.frozen, w.rate
		w.mu.Unlock()
		if !frozen && n > 0 {
			if slowed && rate > 0 {
				time.Sleep(time.Second * time.Duration(n) / time.Duration(rate)) // pause: the line is slow
			}
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
