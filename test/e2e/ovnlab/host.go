//go:build e2e

package ovnlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netloom/netloom/test/await"
)

// Host is an endpoint that can send and receive real packets: a network namespace behind a logical port.
// Its methods may be called by several goroutines.
type Host struct {
	tb   testing.TB
	port *Port
	ns   *netns
	link string // until it becomes eth0

	source atomic.Int64 // counts connections, to choose source ports
}

// Outcome is the result of an attempt to connect. The zero value is Timeout.
type Outcome int

// Timeout got no answer, Refused was rejected, Answered got a reply of the other side.
const (
	Timeout Outcome = iota
	Refused
	Answered
)

// String is the outcome's lower-case name.
func (o Outcome) String() string {
	switch o {
	case Answered:
		return "answered"
	case Refused:
		return "refused"
	case Timeout:
	}
	return "timeout"
}

// Name is the name of the host's logical port.
func (h *Host) Name() string { return h.port.Name }

// Addr is the host's first address of a family.
func (h *Host) Addr(v6 bool) netip.Addr {
	for _, a := range h.port.Addrs {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

// Server is a listener on a host that answers what it receives.
type Server struct {
	answer   func(message []byte, from net.Addr) []byte
	received atomic.Int64
	closer   io.Closer
}

// Received counts the accepted connections or, for UDP, the datagrams.
func (s *Server) Received() int64 { return s.received.Load() }

// Close stops listening.
func (s *Server) Close() { _ = s.closer.Close() }

// Serve echoes on a port of every address of the host, until the test ends.
func (h *Host) Serve(protocol string, port uint16) *Server {
	h.tb.Helper()
	return h.serve(protocol, port, func(message []byte, _ net.Addr) []byte { return message })
}

// serve answers every message on a port of every address of the host.
func (h *Host) serve(protocol string, port uint16, answer func(message []byte, from net.Addr) []byte) *Server {
	h.tb.Helper()
	s := &Server{answer: answer}
	address := fmt.Sprintf("[::]:%d", port)
	err := h.ns.do(func() error {
		var lc net.ListenConfig
		if protocol == "udp" {
			pc, err := lc.ListenPacket(h.tb.Context(), "udp", address)
			if err == nil {
				s.closer = pc
				go s.datagrams(pc)
			}
			return err
		}
		l, err := lc.Listen(h.tb.Context(), "tcp", address)
		if err == nil {
			s.closer = l
			go s.streams(l)
		}
		return err
	})
	if err != nil {
		h.tb.Fatalf("serve %s %s/%d: %v", h.Name(), protocol, port, err)
	}
	h.tb.Cleanup(s.Close)
	return s
}

func (s *Server) datagrams(pc net.PacketConn) {
	buf := make([]byte, 2048)
	for {
		n, from, err := pc.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.received.Add(1)
			_, _ = pc.WriteTo(s.answer(buf[:n], from), from)
		}
	}
}

func (s *Server) streams(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.received.Add(1)
			go s.stream(conn)
		}
	}
}

func (s *Server) stream(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 2048)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if _, err := conn.Write(s.answer(buf[:n], conn.RemoteAddr())); err != nil {
			return
		}
	}
}

// Source ports of clients, used one after the other: OVS 3.1 in userspace loses packets of a connection whose ports were
// used by another one shortly before, and may even fail an assertion. The kernel would choose at random.
const (
	firstSource = 10_000
	sources     = 55_000
)

// Dial opens a connection from one of the host's addresses, or a socket for UDP.
func (h *Host) Dial(ctx context.Context, protocol string, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
	for {
		conn, err := h.dial(ctx, protocol, netip.AddrPortFrom(from, uint16(firstSource+h.source.Add(1)%sources)), to)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return conn, err
		}
	}
}

func (h *Host) dial(ctx context.Context, protocol string, from, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	if protocol == "udp" {
		d.LocalAddr = net.UDPAddrFromAddrPort(from)
	} else {
		d.LocalAddr = net.TCPAddrFromAddrPort(from)
	}
	var conn net.Conn
	err := h.ns.do(func() error {
		var err error
		conn, err = d.DialContext(ctx, protocol, to.String())
		return err
	})
	return conn, err
}

// Within is how long to wait for an outcome: for an answer as long as the test may run. That nothing answers is looked at for
// a moment: a busy machine only sees less.
func Within(want Outcome) time.Duration {
	if want == Timeout {
		return 300 * time.Millisecond
	}
	return 0
}

// Connect tries to talk to a Server: it opens a connection, sends a few bytes and waits until they come back, within a
// duration; 0 is as long as the test may run.
func (h *Host) Connect(ctx context.Context, protocol string, from netip.Addr, to netip.AddrPort, within time.Duration) (Outcome, error) {
	return h.talk(ctx, protocol, from, to, within, Ping)
}

// talk opens a connection and hands it to f. The connection fails once within has passed, or ctx ends.
func (h *Host) talk(ctx context.Context, protocol string, from netip.Addr, to netip.AddrPort, within time.Duration, f func(net.Conn) error) (Outcome, error) {
	var cancel context.CancelFunc
	if end, ends := await.End(h.tb); within == 0 && ends {
		ctx, cancel = context.WithDeadline(ctx, end)
	} else if within == 0 {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithTimeout(ctx, within)
	}
	defer cancel()
	conn, err := h.Dial(ctx, protocol, from, to)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := f(conn); err != nil {
		return outcome(err)
	}
	return Answered, nil
}

// Ping sends four bytes over conn and waits until they come back.
func Ping(conn net.Conn) error {
	if _, err := conn.Write([]byte("ping")); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

// outcome converts an error to an outcome. Any unexpected error is an error of the test.
func outcome(err error) (Outcome, error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return Timeout, nil
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EACCES):
		return Refused, nil
	default:
		return Timeout, err
	}
}
