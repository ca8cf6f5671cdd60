package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// network is servers that are reached without a network, so that time can be a test's own.
type network struct {
	client  *Client
	servers map[string]*simulator.Server // by name

	mu    sync.Mutex
	state map[string]state
	dials []time.Time
}

// state is how the network treats clients that dial a server.
type state int

const (
	reachable state = iota
	refusing
	silent // packets are lost
)

// set changes how a server is reached, and drops its connections.
func (w *network) set(name string, s state) {
	w.mu.Lock()
	w.state[name] = s
	w.mu.Unlock()
	w.servers[name].Drop()
}

func (w *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, time.Now())
	s := w.state[address]
	w.mu.Unlock()
	switch s {
	case refusing:
		return nil, errors.New("connection refused")
	case silent:
		<-ctx.Done()
		return nil, ctx.Err()
	case reachable:
	}
	ours, theirs := net.Pipe()
	w.servers[address].Serve(theirs)
	return ours, nil
}

// dialed lists when the client dialed.
func (w *network) dialed() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dials)
}

// enter starts n servers, named a, b and so on, and a client of them. It must be called in a synctest bubble.
func enter(t *testing.T, n int, opts Options) *network {
	t.Helper()
	w := &network{servers: make(map[string]*simulator.Server), state: make(map[string]state)}
	for i := range n {
		server, err := simulator.NewServer(schema.NB2303())
		require.NoError(t, err)
		t.Cleanup(server.Close)
		name := string(rune('a' + i))
		w.servers[name] = server
		opts.Endpoints = append(opts.Endpoints, "unix:"+name)
	}
	opts.Dial = w.dial
	client, err := New(opts)
	require.NoError(t, err)
	w.client = client
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	t.Cleanup(func() {
		start := time.Now()
		cancel()
		require.NoError(t, <-ended)
		require.Zero(t, time.Since(start), "Run returns at once when its context ends")
	})
	return w
}

// at is the name of the server that the client is connected to once everything is settled.
func (w *network) at() string {
	synctest.Wait()
	return strings.TrimPrefix(w.client.Endpoint(), "unix:")
}

// wait sleeps until the client is connected to the named server and returns how long that took.
func (w *network) wait(t *testing.T, name string) time.Duration {
	t.Helper()
	start := time.Now()
	for w.at() != name {
		require.Less(t, time.Since(start), time.Hour)
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(start)
}

func TestHungServerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 2, Options{LeaderOnly: true})
		require.Equal(t, "a", w.at())
		time.Sleep(time.Minute)
		require.Equal(t, "a", w.at(), "a server that answers is kept")
		w.servers["a"].Hang()
		took := w.wait(t, "b")
		require.LessOrEqual(t, took, 3*time.Second)
		require.EqualValues(t, 2, w.client.Epoch())
	})
}

func TestHungServerIsGivenTimeWhenItIsTheOnlyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 1, Options{})
		require.Equal(t, "a", w.at())
		w.servers["a"].Hang()
		time.Sleep(8 * time.Second)
		require.Equal(t, "a", w.at())
		time.Sleep(8 * time.Second)
		require.Empty(t, w.at())
		w.servers["a"].Resume()
		require.LessOrEqual(t, w.wait(t, "a"), 4*time.Second)
	})
}

func TestBusyServerIsGivenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 2, Options{})
		require.Equal(t, "a", w.at())
		w.servers["a"].Hang()
		time.AfterFunc(5*time.Second, w.servers["a"].Resume)
		members := make([]string, 4000) // of 500 bytes each: work for some seconds
		for i := range members {
			members[i] = fmt.Sprintf("%0500d", i)
		}
		_, err := w.client.Transact(t.Context(), []ovsdb.Operation{
			Insert("Address_Set", "11111111-1111-4111-8111-111111111111", ovsdb.Row{"name": "big", "addresses": Set(members)}),
		})
		require.NoError(t, err)
		require.EqualValues(t, 1, w.client.Epoch())
	})
}

func TestServerIsAwaitedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 2, Options{})
		require.Equal(t, "a", w.at())
		w.set("b", silent)
		w.set("a", refusing)
		time.Sleep(3 * time.Hour)
		require.Empty(t, w.at())
		dials := w.dialed()
		for i := 2; i < len(dials); i++ {
			require.LessOrEqual(t, dials[i].Sub(dials[i-1]), defaultDialTimeout+longestPause)
		}
		require.Less(t, len(dials), 3*3600, "a lost server is not dialed in a hurry")
		w.set("b", reachable)
		require.LessOrEqual(t, w.wait(t, "b"), defaultDialTimeout+longestPause)
	})
}

func TestFlappingServerIsNotDialedInAHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 1, Options{})
		for range 1000 {
			synctest.Wait()
			w.servers["a"].Drop()
			time.Sleep(60 * time.Millisecond)
		}
		require.Less(t, len(w.dialed()), 100, "in a minute")
	})
}

func TestLeaderIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 3, Options{LeaderOnly: true})
		w.servers["a"].SetLeader(false)
		w.servers["b"].SetLeader(false)
		w.servers["c"].SetLeader(true)
		require.LessOrEqual(t, w.wait(t, "c"), time.Second)

		w.servers["b"].SetLeader(true)
		w.servers["c"].SetLeader(false)
		require.LessOrEqual(t, w.wait(t, "b"), time.Second)

		w.servers["b"].SetLeader(false)
		time.Sleep(30 * time.Second)
		require.Empty(t, w.at(), "there is no leader")
		w.servers["a"].SetLeader(true)
		require.LessOrEqual(t, w.wait(t, "a"), longestElection)

		w.servers["a"].SetConnected(false)
		require.Empty(t, w.at(), "a leader without a majority does not count")
	})
}

func TestFollowerServesClientsThatAllowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 1, Options{})
		w.servers["a"].SetLeader(false)
		require.Equal(t, "a", w.at())
	})
}

func TestRunEndsAtOnce(t *testing.T) {
	tests := []struct {
		name   string
		before func(w *network)
	}{
		{"while connected", func(*network) {}},
		{"while the server hangs", func(w *network) { w.servers["a"].Hang(); time.Sleep(time.Minute) }},
		{"while a dial is under way", func(w *network) { w.set("a", silent) }},
		{"between two dials", func(w *network) { w.set("a", refusing) }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enter(t, 1, Options{})
				require.Equal(t, "a", w.at())
				tc.before(w)
				synctest.Wait()
			})
		})
	}
}

func TestTransactOutlivesNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enter(t, 2, Options{})
		require.Equal(t, "a", w.at())
		w.servers["a"].Hang()
		start := time.Now()
		_, err := w.client.Transact(t.Context(), []ovsdb.Operation{Delete("ACL", "11111111-1111-4111-8111-111111111111")})
		require.ErrorIs(t, err, ErrUnknownOutcome)
		require.ErrorIs(t, err, errHung)
		require.LessOrEqual(t, time.Since(start), 3*time.Second)
	})
}
