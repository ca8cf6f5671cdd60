//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// TestDrillSplitCluster splits a cluster of three databases: first its leader is cut off from the other two while netloom still reaches it, then
// netloom from the leader and one more. What a policy changes meanwhile is written by a majority or not at all, no server ever has less than
// the old policy or the new one, and in the end all have the same. Times are printed.
func TestDrillSplitCluster(t *testing.T) {
	t.Parallel()
	s := startSplit(t)
	s.allow(1000)
	s.awaitEverywhere(1000)

	old := s.raft.Leader()
	s.raft.CutPeers(old)
	began := time.Now()
	s.allow(2000)
	await.True(t, func() bool { return s.has((old+1)%3, 2000) }, "a majority has the change")
	enforced := time.Since(began)
	require.NotEqual(t, old, s.raft.Leader())
	require.False(t, s.has(old, 2000), "the server that is cut off has it as well")
	s.raft.MendPeers(old)
	s.awaitEverywhere(2000)
	s.awaitUp("1")
	reportDrill(t, s.netloom.PID(), "the leader of three databases is cut off from the others, netloom is not",
		fmt.Sprintf("a change at that moment was in force after %.1f s, by the next leader", enforced.Seconds()), "–", "log, `netloom_target_up` 0")

	leader := s.raft.Leader()
	third := (leader + 1) % 3
	s.raft.CutClients(leader)
	s.raft.CutClients(third)
	began = time.Now()
	s.allow(3000)
	s.awaitUp("0")
	told := time.Since(began)
	for server := range 3 {
		require.False(t, s.has(server, 3000), "server %d has what nobody could write", server)
	}
	s.raft.MendClients(third)
	s.raft.MendClients(leader)
	began = time.Now()
	s.awaitEverywhere(3000)
	mended := time.Since(began)
	s.awaitUp("1")
	s.requireNothingToDo()
	reportDrill(t, s.netloom.PID(), "netloom is cut off from the leader of three databases and from one more", "nothing; a change waits for them", "–",
		fmt.Sprintf("after %.1f s: log, `netloom_target_up` 0, `/readyz`; in force %.1f s after the end", told.Seconds(), mended.Seconds()))
}

// splitDrill is a cluster of databases that can be split, netloom on the network of its clients, and a witness at each server.
type splitDrill struct {
	t       *testing.T
	raft    *ovnlab.SplitRaft
	dir     string // of manifests
	listen  string
	program string
	netloom *ovnlab.Process

	mu      sync.Mutex
	matches [3]map[string]string // of the ACLs of each server, by UUID
	wrong   []string
}

func startSplit(t *testing.T) *splitDrill {
	t.Helper()
	s := &splitDrill{t: t, raft: ovnlab.StartSplitRaft(t), dir: t.TempDir(), listen: "127.0.0.1:8080"}
	for server := range s.matches {
		s.matches[server] = map[string]string{}
		watch, err := nbwatch.Start(t.Context(), s.raft.Socket(server), func(c nbwatch.Change) { s.take(server, c) }, "ACL")
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = watch.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Empty(t, s.wrong)
		})
	}
	var err error
	s.program, err = buildOnce()
	require.NoError(t, err)
	s.allow(1000)
	s.raft.NBCtl("ls-add", "s", "--", "lsp-add", "s", "shop_db")
	s.netloom = ovnlab.Spawn(t, filepath.Join(t.TempDir(), "netloom.log"), os.Environ(), s.raft.Inside(s.program, "run", "--manifests", s.dir,
		"--ovn-nb", s.raft.Endpoints(), "--listen", s.listen, "--debug-listen=")...)
	return s
}

// take takes a change of an ACL at a server. From the first complete state on, none has less than one policy.
func (s *splitDrill) take(server int, c nbwatch.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.allowed(server)
	if c.Verb == nbwatch.Deleted {
		delete(s.matches[server], c.UUID)
	} else if match := c.Strings("match"); len(match) > 0 {
		s.matches[server][c.UUID] = match[0]
	}
	if c.Last && before != "" && s.allowed(server) == "" {
		s.wrong = append(s.wrong, fmt.Sprintf("server %d lost what allowed %s", server, before))
	}
}

// allowed is the matches of a server that name a port. The lock is held.
func (s *splitDrill) allowed(server int) string {
	for _, match := range s.matches[server] {
		if strings.Contains(match, "tcp.dst == ") {
			return match
		}
	}
	return ""
}

// allow has the policy allow another port.
func (s *splitDrill) allow(port int) {
	s.t.Helper()
	file := filepath.Join(s.dir, "policy.yaml")
	require.NoError(s.t, os.WriteFile(file+".new", fmt.Appendf(nil, hangManifest, port), 0o600))
	require.NoError(s.t, os.Rename(file+".new", file)) // netloom must not read half of it
}

// has reports whether a server has the rule for a port, and none for another one.
func (s *splitDrill) has(server, port int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, with := 0, 0
	for _, match := range s.matches[server] {
		if strings.Contains(match, "tcp.dst == ") {
			n++
			if strings.Contains(match, fmt.Sprintf("tcp.dst == %d", port)) {
				with++
			}
		}
	}
	return n > 0 && n == with
}

// awaitEverywhere waits until all servers have the rule for a port.
func (s *splitDrill) awaitEverywhere(port int) {
	s.t.Helper()
	await.True(s.t, func() bool { return s.has(0, port) && s.has(1, port) && s.has(2, port) }, "all servers have port %d", port)
}

// awaitUp waits for what netloom says of its target.
func (s *splitDrill) awaitUp(want string) {
	s.t.Helper()
	await.True(s.t, func() bool {
		return strings.Contains(metricsFrom(s.t, s.raft.HTTP(), s.listen), `netloom_target_up{target="ovn"} `+want)
	}, "netloom_target_up %s", want)
}

// requireNothingToDo asks the program for a plan, as a user would.
func (s *splitDrill) requireNothingToDo() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	argv := s.raft.Inside(s.program, "plan", "--manifests", s.dir, "--ovn-nb", s.raft.Endpoints())
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	require.NoError(s.t, err, "a plan after everything: %.2000s", out)
}
