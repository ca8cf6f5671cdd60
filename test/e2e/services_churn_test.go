//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// churned is a service on three pods, of which some are left.
func churned(m *mall, pods ...string) string {
	var b strings.Builder
	at := vip("20")
	fmt.Fprintf(&b, `apiVersion: v1
kind: Service
metadata: {namespace: shop, name: churned}
spec:
  clusterIP: %s
  clusterIPs: [%s, "%s"]
  ports: [{name: http, port: 80, targetPort: 8080, protocol: TCP}, {name: http-udp, port: 80, targetPort: 8080, protocol: UDP}]
`, at[0], at[0], at[1])
	for i, family := range []string{"IPv4", "IPv6"} {
		fmt.Fprintf(&b, `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: shop, name: churned-%d, labels: {kubernetes.io/service-name: churned}}
addressType: %s
ports: [{name: http, port: 8080, protocol: TCP}, {name: http-udp, port: 8080, protocol: UDP}]
endpoints:
`, i, family)
		for _, p := range pods {
			fmt.Fprintf(&b, "- {addresses: [\"%s\"]}\n", m.both(p)[i])
		}
	}
	return b.String()
}

// TestServiceChurn takes backends away and brings them back while clients connect in a loop.
func TestServiceChurn(t *testing.T) {
	m := newMall(t)
	put(t, m.dir, "churned.yaml", churned(m, "web-1", "web-2", "web-3"))
	daemon := start(t, m.dir, m.lab.NBUnix())
	settle := func() {
		await.True(t, func() bool {
			running(t, daemon)
			return isInSync(t, m.dir, m.lab.NBUnix())
		}, "the database is in sync with the manifests")
		m.chassis.SyncHV()
	}
	settle()
	c := m.customers(t)
	for _, gone := range []string{"web-2", "web-3", "web-2"} {
		var left []string
		for _, name := range []string{"web-1", "web-2", "web-3"} {
			if name != gone {
				left = append(left, name)
			}
		}
		sockets := m.sockets(t, gone)
		c.turns(t, 10)
		put(t, m.dir, "churned.yaml", churned(m, left...))
		settle()
		c.turns(t, 3) // packets on the way there have arrived
		m.closes(gone)
		c.turns(t, 10)
		for _, conn := range sockets {
			await.True(t, func() bool {
				require.NoError(t, conn.SetDeadline(time.Now().Add(time.Second)))
				got, err := ovnlab.AskOn(conn)
				return err == nil && slices.Contains(left, podOf(got.By))
			}, "%s", "a socket of UDP whose backend is gone gets another: "+conn.RemoteAddr().String())
		}
		m.opens(gone)
		put(t, m.dir, "churned.yaml", churned(m, "web-1", "web-2", "web-3"))
		settle()
	}
	c.turns(t, 10)
	c.check(t)
	m.visits(t, []visit{{name: "all three are back", from: "client", to: vip("20"), port: 80, want: ovnlab.Answered, by: []string{"web-1", "web-2", "web-3"}}})
}

// sockets are clients of UDP, one of each family, that a pod has answered.
func (m *mall) sockets(t *testing.T, pod string) []net.Conn {
	t.Helper()
	var all []net.Conn
	client := m.hosts["client"]
	for i, text := range vip("20") {
		at := netip.AddrPortFrom(netip.MustParseAddr(text), 80)
		await.True(t, func() bool {
			conn, err := client.Dial(t.Context(), "udp", client.Addr(i == 1), at)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			require.NoError(t, conn.SetDeadline(time.Now().Add(time.Second)))
			got, err := ovnlab.AskOn(conn)
			if err != nil || podOf(got.By) != pod {
				return false
			}
			all = append(all, conn)
			return true
		}, "%s", "a socket that "+pod+" answers")
	}
	return all
}

// closes makes a pod refuse new clients.
func (m *mall) closes(pod string) {
	for _, s := range m.greets[pod] {
		s.Close()
	}
	m.greets[pod] = nil
}

// opens undoes closes.
func (m *mall) opens(pod string) {
	for _, protocol := range []string{"tcp", "udp"} {
		m.greets[pod] = append(m.greets[pod], m.hosts[pod].Greet(protocol, 8080))
	}
}

// customers are clients of the churned service: some connect in a loop, others keep a connection to web-1, which never
// goes.
type customers struct {
	names  []string
	served []*atomic.Int64 // how often each of names got what it wanted

	mu     sync.Mutex
	broken []string
	group  sync.WaitGroup
	cancel context.CancelFunc
}

// A switch may lose some packets while backends change. TCP sends again on its own; a client of UDP has to, as resolvers do.
const (
	resend    = 900 * time.Millisecond
	overtaken = 200 // clients of TCP are served before one of UDP has failed: a busy machine serves neither
)

// customers starts the clients.
func (m *mall) customers(t *testing.T) *customers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &customers{cancel: cancel}
	t.Cleanup(func() { cancel(); c.group.Wait() })
	client := m.hosts["client"]
	for i, text := range vip("20") {
		at, src := netip.AddrPortFrom(netip.MustParseAddr(text), 80), client.Addr(i == 1)
		c.repeat(ctx, "TCP to "+text, func() error {
			return answered(client.Ask(ctx, "tcp", src, at, 0))
		})
		others := c.served[len(c.served)-1]
		c.repeat(ctx, "UDP to "+text, func() error {
			for until := others.Load() + overtaken; ; {
				err := answered(client.Ask(ctx, "udp", src, at, resend))
				if err == nil || ctx.Err() != nil || others.Load() > until {
					return err
				}
			}
		})
		for n := 0; ; n++ {
			require.Less(t, n, tries)
			conn, err := client.Dial(ctx, "tcp", src, at)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			got, err := ovnlab.AskOn(conn)
			require.NoError(t, err)
			if podOf(got.By) == "web-1" {
				context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
				c.repeat(ctx, "a connection that stays, to "+text, func() error {
					_, err := ovnlab.AskOn(conn)
					return err
				})
				break
			}
		}
	}
	return c
}

// answered returns an error for anything but an answer.
func answered(_ ovnlab.Greeting, o ovnlab.Outcome, err error) error {
	if err == nil && o != ovnlab.Answered {
		return errors.New(o.String())
	}
	return err
}

// repeat does something until ctx ends, and writes down what fails.
func (c *customers) repeat(ctx context.Context, name string, do func() error) {
	count := &atomic.Int64{}
	c.names, c.served = append(c.names, name), append(c.served, count)
	c.group.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			if err := do(); err == nil {
				count.Add(1)
			} else if ctx.Err() == nil {
				c.mu.Lock()
				c.broken = append(c.broken, fmt.Sprintf("%s %s, after %s: %v", began.Format("15:04:05.000"), name, time.Since(began), err))
				c.mu.Unlock()
			}
			time.Sleep(10 * time.Millisecond) // pause: others want the processor too
		}
	})
}

// turns waits until every client was served n more times, and fails the test when one was not.
func (c *customers) turns(t *testing.T, n int64) {
	t.Helper()
	target := make([]int64, len(c.served))
	for i := range c.served {
		target[i] = c.served[i].Load() + n
	}
	await.True(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		require.Empty(t, c.broken)
		for i := range c.served {
			if c.served[i].Load() < target[i] {
				return false
			}
		}
		return true
	}, "clients keep trying")
}

// check ends the clients and fails the test when one was not served.
func (c *customers) check(t *testing.T) {
	t.Helper()
	c.cancel()
	c.group.Wait()
	require.Empty(t, c.broken)
	for i, name := range c.names {
		t.Logf("%s: %d times", name, c.served[i].Load())
	}
}
