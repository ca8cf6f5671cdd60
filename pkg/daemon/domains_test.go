package daemon_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/resolver"
)

const allowlistFile = `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: allowlist}
spec:
  tier: Admin
  priority: 10
  subject: {namespaces: {}}
  egress:
  - {action: Accept, to: [{domainNames: [db.example.com]}]}
  - {action: Deny, to: [{networks: [0.0.0.0/0]}]}
`

// names is a DNS server with one answer for every name.
type names struct {
	mu      sync.Mutex
	answer  netip.Addr
	blocked chan struct{} // nil, or closed when lookups are answered
}

func (n *names) set(answer string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = netip.MustParseAddr(answer)
}

func (n *names) lookUp(ctx context.Context, _ string) ([]netip.Addr, error) {
	n.mu.Lock()
	blocked := n.blocked
	n.mu.Unlock()
	if blocked != nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-blocked:
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return []netip.Addr{n.answer}, nil
}

// TestDomainNamesAreLookedUp follows answers of DNS into the database, without SD-WAN, and over a restart.
func TestDomainNamesAreLookedUp(t *testing.T) {
	p := newPlace(t)
	p.write(t, "allowlist.yaml", allowlistFile)
	dns := &names{}
	dns.set("203.0.113.7")
	opts := p.options()
	opts.Resolver = resolver.Options{Interval: 5 * time.Millisecond, LookUp: dns.lookUp}
	r := startReady(t, opts)
	require.Contains(t, p.rows(), "203.0.113.7")
	rules, written := p.server.Dump("ACL", "Port_Group"), p.server.Transactions()
	dns.set("203.0.113.8")
	r.await("the other address", func() bool { return strings.Contains(p.rows(), "203.0.113.8") })
	require.NotContains(t, p.rows(), "203.0.113.7")
	require.Equal(t, rules, p.server.Dump("ACL", "Port_Group"), "no rule was written")
	require.Equal(t, written+1, p.server.Transactions())
	r.stop()

	before := p.server.Dump()
	written = p.server.Transactions()
	dns.blocked = make(chan struct{})
	r = start(t, opts)
	for i := range uint64(3) { // the last begins after the first was published
		p.write(t, "more.yaml", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: more, labels: {n: %q}}}", fmt.Sprint(i)))
		r.await("a snapshot", func() bool { return r.Pipeline().Edition() > i })
	}
	require.Nil(t, r.Staged(), "targets wait for DNS")
	close(dns.blocked)
	r.await("readiness", func() bool { code, _ := r.get("/readyz"); return code == 200 })
	require.Equal(t, before, p.server.Dump())
	require.Equal(t, written, p.server.Transactions(), "a restart writes nothing")
}
