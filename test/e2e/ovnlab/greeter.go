//go:build e2e

package ovnlab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Greeting is the answer of a greeting host: its name, and the client's address that it saw.
type Greeting struct {
	By   string // the name of the logical port
	From netip.Addr
}

// Greet answers every message on a port of every address of the host with a Greeting, until the test ends.
func (h *Host) Greet(protocol string, port uint16) *Server {
	h.tb.Helper()
	return h.serve(protocol, port, func(_ []byte, from net.Addr) []byte {
		var a netip.Addr
		if ap, err := netip.ParseAddrPort(from.String()); err == nil {
			a = ap.Addr().Unmap()
		}
		return fmt.Appendf(nil, "%s %s\n", h.Name(), a)
	})
}

// Ask sends a message to a greeting host and waits within a duration; 0 is as long as the test may run. The kernel accepts an
// answer only from the address that the request was sent to: if NAT is not undone on the way back, the result is a Timeout.
func (h *Host) Ask(ctx context.Context, protocol string, from netip.Addr, to netip.AddrPort, within time.Duration) (Greeting, Outcome, error) {
	var got Greeting
	o, err := h.talk(ctx, protocol, from, to, within, func(conn net.Conn) error {
		var err error
		got, err = AskOn(conn)
		return err
	})
	return got, o, err
}

// AskOn sends a message over conn and reads the greeting.
func AskOn(conn net.Conn) (Greeting, error) {
	if _, err := conn.Write([]byte("who?")); err != nil {
		return Greeting{}, fmt.Errorf("send: %w", err)
	}
	line, err := bufio.NewReaderSize(conn, 256).ReadString('\n')
	if err != nil {
		return Greeting{}, fmt.Errorf("receive: %w", err)
	}
	by, addr, _ := strings.Cut(strings.TrimSpace(line), " ")
	from, err := netip.ParseAddr(addr)
	if err != nil {
		return Greeting{}, errors.Join(fmt.Errorf("greeting %q", line), err)
	}
	return Greeting{By: by, From: from}, nil
}
