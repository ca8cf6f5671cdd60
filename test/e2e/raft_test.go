//go:build e2e

package e2e_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// clustered is a daemon that writes to a cluster of databases, and the manifests it follows.
type clustered struct {
	raft     *ovnlab.Raft
	dir      string
	daemon   *ovnlab.Process
	policies int // how many numbered policies there are
}

// numbered is the n-th policy of a test. It allows a port that no other policy names.
func numbered(n int) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: p%d}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: client}}}], ports: [{port: %d}]}]
`, n, numberedPort(n))
}

func numberedPort(n int) int { return 20_000 + 2*n }

// more adds a policy and returns the port that it allows.
func (c *clustered) more(t *testing.T) int {
	t.Helper()
	n := c.policies
	c.policies++
	put(t, c.dir, fmt.Sprintf("p%d.yaml", n), numbered(n))
	return numberedPort(n)
}

var numberPattern = regexp.MustCompile(`\b\d{5}\b`)

// written lists the numbered ports that ACLs in the database match.
func (c *clustered) written(t *testing.T) map[int]bool {
	t.Helper()
	ports := map[int]bool{}
	for _, m := range numberPattern.FindAllString(c.raft.NBCtl("--bare", "--columns=match", "list", "ACL"), -1) {
		port, err := strconv.Atoi(m)
		require.NoError(t, err)
		ports[port] = true
	}
	return ports
}

// outage adds policies before, during and after the leader is taken away by the call, and checks that the daemon is
// back at work soon after the cluster is.
func (c *clustered) outage(t *testing.T, take func(leader int)) {
	t.Helper()
	leader := c.raft.Leader()
	for range 5 {
		c.more(t)
	}
	take(leader)
	for range 5 {
		c.more(t)
	}
	next := c.raft.Leader()
	require.NotEqual(t, leader, next)
	elected := time.Now()
	last := c.more(t)
	await.True(t, func() bool {
		running(t, c.daemon)
		return c.written(t)[last]
	}, "the daemon comes back")
	t.Logf("back at work %s after the election", time.Since(elected).Round(time.Millisecond))
	c.complete(t)
}

// complete waits until everything that was ever added is written, and nothing else.
func (c *clustered) complete(t *testing.T) {
	t.Helper()
	await.True(t, func() bool {
		running(t, c.daemon)
		return isInSync(t, c.dir, c.raft.Endpoints())
	}, "the database is in sync with the manifests")
	want := map[int]bool{}
	for n := range c.policies {
		want[numberedPort(n)] = true
	}
	require.Equal(t, want, c.written(t))
}

// TestRaft takes the leader of a clustered Northbound database away, in two ways, while policies change.
func TestRaft(t *testing.T) {
	c := &clustered{raft: ovnlab.StartRaft(t), dir: gather(t, "testdata/packets") + "/packets"}
	c.raft.NBCtl("ls-add", "s", "--", "lsp-add", "s", "e2e_web", "--", "lsp-add", "s", "e2e_client", "--",
		"lsp-add", "s", "e2e_out", "--", "lsp-add", "s", "e2e_far")
	c.more(t)
	c.daemon = start(t, c.dir, c.raft.Endpoints())
	c.complete(t)
	for round := range 2 {
		var gone int
		ok := t.Run(fmt.Sprintf("killed %d", round), func(t *testing.T) {
			c.outage(t, func(leader int) { gone = leader; c.raft.Kill(leader) })
		})
		require.True(t, ok)
		c.raft.Restart(gone)
		ok = t.Run(fmt.Sprintf("hung %d", round), func(t *testing.T) {
			c.outage(t, func(leader int) { gone = leader; c.raft.Hang(leader) })
		})
		require.True(t, ok)
		c.raft.Resume(gone)
		c.complete(t)
	}
}
