//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
)

// handedOut are the ports that FreePort returned. A port stays unused until a program listens there, and tests run at the same time.
var handedOut sync.Map

// FreePort finds an unused TCP port on loopback, and never the same again.
func FreePort(tb testing.TB) int {
	tb.Helper()
	for {
		l, err := new(net.ListenConfig).Listen(context.WithoutCancel(tb.Context()), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatalf("find a free port: %v", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if _, taken := handedOut.LoadOrStore(port, true); !taken {
			return port
		}
	}
}

// FreeAddress is an address on loopback with such a port.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(tb))
}
