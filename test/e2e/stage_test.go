//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// The ports on which every host of a stage listens. Every version of an edited policy allows steady and denies closed;
// old is allowed before an edit only, fresh after it only.
const (
	old    = 80
	fresh  = 81
	steady = 7000
	closed = 9000
)

// stage is a chassis with the pods of testdata/packets, and their manifests in a directory that tests may edit.
type stage struct {
	lab     *ovnlab.Lab
	chassis *ovnlab.Chassis
	dir     string
	hosts   map[string]*ovnlab.Host // by pod name
	closed  []*ovnlab.Server        // on web
}

// outsiders are addresses outside the cluster that the world answers for, like the nodes'.
var outsiders = [2]netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{dir: gather(t, "testdata/packets") + "/packets", hosts: map[string]*ovnlab.Host{}}
	cluster := load(t, s.dir)
	s.lab = startLab(t)
	s.lab.Install(network(t, cluster))
	t.Cleanup(func() { require.Empty(t, s.lab.Complaints(), "OVN cannot read what was written") })
	s.chassis = s.lab.StartChassis()
	names := []string{"client", "far", "out", "web"}
	hosts := s.chassis.Bind(append(nodeAddrs(cluster), outsiders[:]...), "e2e_client", "e2e_far", "e2e_out", "e2e_web", ovnlab.World)
	for i, name := range append(names, ovnlab.World) {
		s.hosts[name] = hosts[i]
		for _, protocol := range []string{"tcp", "udp"} {
			for _, port := range []uint16{old, fresh, steady, closed} {
				server := hosts[i].Serve(protocol, port)
				if name == "web" && port == closed {
					s.closed = append(s.closed, server)
				}
			}
		}
	}
	return s
}

// settle waits until the database is in sync with the manifests and the chassis has the flows for it.
func (s *stage) settle(t *testing.T, daemon *ovnlab.Process) {
	t.Helper()
	await.True(t, func() bool {
		running(t, daemon)
		return isInSync(t, s.dir, s.lab.NBUnix())
	}, "the database is in sync with the manifests")
	s.chassis.SyncHV()
}

// expect connects once and fails unless that ends as wanted. An answer is waited for longer than the lack of one.
func (s *stage) expect(t *testing.T, want ovnlab.Outcome, from, to, protocol string, port uint16) {
	t.Helper()
	for _, v6 := range []bool{false, true} {
		src, dst := s.hosts[from].Addr(v6), s.hosts[to].Addr(v6)
		s.expectAddrs(t, want, s.hosts[from], src, netip.AddrPortFrom(dst, port), protocol)
	}
}

func (s *stage) expectAddrs(t *testing.T, want ovnlab.Outcome, from *ovnlab.Host, src netip.Addr, dst netip.AddrPort, protocol string) {
	t.Helper()
	got, err := from.Connect(t.Context(), protocol, src, dst, ovnlab.Within(want))
	require.NoError(t, err)
	require.Equal(t, want, got, "%s %s -> %s", protocol, src, dst)
}

// watch is clients that keep trying while the test edits and breaks things: some must always get through to web, the
// others never.
type watch struct {
	stage  *stage
	always map[string]*ovnlab.Loop
	never  map[string]*ovnlab.Loop
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	pings  map[net.Conn]int // of connections that stay open
	broken []string         // what went wrong with them
}

// watch starts the clients.
func (s *stage) watch(t *testing.T) *watch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watch{stage: s, always: map[string]*ovnlab.Loop{}, never: map[string]*ovnlab.Loop{}, cancel: cancel, pings: map[net.Conn]int{}}
	client, web := s.hosts["client"], s.hosts["web"]
	s.expect(t, ovnlab.Answered, "client", "web", "tcp", steady) // and neighbours are known from now on
	for _, v6 := range []bool{false, true} {
		src, dst := client.Addr(v6), web.Addr(v6)
		for _, protocol := range []string{"tcp", "udp"} {
			name := fmt.Sprintf("%s to %s", protocol, dst)
			w.always[name] = client.Steady(protocol, src, netip.AddrPortFrom(dst, steady), 10*time.Millisecond)
			w.never[name] = client.Loop(protocol, src, netip.AddrPortFrom(dst, closed), 40*time.Millisecond, 5*time.Millisecond)
		}
		conn, err := client.Dial(ctx, "tcp", src, netip.AddrPortFrom(dst, steady))
		require.NoError(t, err)
		w.pings[conn] = 0
		w.group.Go(func() { w.stay(ctx, conn) })
	}
	t.Cleanup(func() { w.cancel(); w.group.Wait() })
	w.turns(t, 5)
	return w
}

// stay keeps one connection busy until ctx ends.
func (w *watch) stay(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // also while it waits for an answer
	for ctx.Err() == nil {
		begin := time.Now()
		err := ovnlab.Ping(conn)
		w.mu.Lock()
		switch {
		case err == nil:
			w.pings[conn]++
		case ctx.Err() == nil:
			w.broken = append(w.broken, fmt.Sprintf("%s open connection to %s: %v", begin.Format("15:04:05.000"), conn.RemoteAddr(), err))
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond): // pause: between two messages
		}
	}
}

// turns waits until every client has tried n more times.
func (w *watch) turns(t *testing.T, n int) {
	t.Helper()
	target := map[*ovnlab.Loop]int{}
	for _, loops := range []map[string]*ovnlab.Loop{w.always, w.never} {
		for _, l := range loops {
			target[l] = l.Begun() + n
		}
	}
	w.mu.Lock()
	pings := maps.Clone(w.pings)
	w.mu.Unlock()
	await.True(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for l, want := range target {
			if l.Ended() < want {
				return false
			}
		}
		for conn, n := range pings {
			if w.pings[conn] == n && len(w.broken) == 0 {
				return false
			}
		}
		return true
	}, "clients keep trying")
}

// check fails the test when a client saw what it should not have.
func (w *watch) check(t *testing.T) {
	t.Helper()
	w.turns(t, 3)
	report := func(what string, loops map[string]*ovnlab.Loop, want ovnlab.Outcome) {
		for name, l := range loops {
			if bad := ovnlab.Except(l.Attempts(), want); len(bad) > 0 {
				t.Errorf("%s, %s: %d of %d attempts: %v", what, name, len(bad), l.Ended(), bad[:min(len(bad), 10)])
			}
		}
	}
	report("a connection that every version allows failed", w.always, ovnlab.Answered)
	report("a connection that every version denies did not time out", w.never, ovnlab.Timeout)
	for _, s := range w.stage.closed {
		if n := s.Received(); n > 0 {
			t.Errorf("the port that every version denies received %d packets", n)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.broken {
		t.Error(b)
	}
	if t.Failed() {
		t.FailNow()
	}
}
