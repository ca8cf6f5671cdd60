package daemon_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/daemon"
)

// give hands the Lease to somebody for good, whether or not there is one yet. To nobody, anybody may take it.
func (l *leases) give(t *testing.T, holder string) {
	t.Helper()
	all := l.client().Leases(leaseSpace)
	seconds := int32(time.Hour / time.Second)
	if _, err := all.Get(t.Context(), leaseName, metav1.GetOptions{}); err != nil {
		_, err = all.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leaseSpace, Name: leaseName}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	l.edit(t, func(s *coordinationv1.LeaseSpec) { s.HolderIdentity, s.LeaseDurationSeconds = &holder, &seconds })
}

func leaderOptions(l *leases, name string) daemon.Leader {
	return daemon.Leader{Enabled: true, Namespace: leaseSpace, Name: leaseName, Identity: name, Leases: l.client()}
}

func (r *rig) readiness() (int, string) {
	w := httptest.NewRecorder()
	r.daemon.Handler().ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/readyz", http.NoBody))
	return w.Code, w.Body.String()
}

func TestTermsOfSDWANBeginAndEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		api := newLeases()
		api.give(t, "elsewhere")
		r.opts.Leader = leaderOptions(api, "here")
		d := r.cnf("cnf-0", "10.0.0.1")
		r.hosts["shop.example"] = nil
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		standsBy := func() {
			t.Helper()
			r.after(2 * time.Minute)
			require.Empty(t, r.writes(), "no status is written")
			require.Empty(t, r.told(), "no Event is made")
			require.False(t, r.counted("openwrt/site/cnf-0"), "nothing is said of targets that somebody else writes")
			require.Zero(t, r.metric("netloom_leader", ""))
			require.Zero(t, r.daemon.StatusBacklog())
			code, text := r.readiness()
			require.Equal(t, http.StatusOK, code, text)
			require.Equal(t, "ok\nstandby: elsewhere leads\n", text)
			for i := range 50 {
				r.apply(wanRule(fmt.Sprintf("passing-%d", i), "10.9.0.0/24"))
				r.after(time.Second)
				r.remove("Mwan3Rule", fmt.Sprintf("passing-%d", i))
				r.after(time.Second)
			}
			require.Zero(t, r.daemon.StatusBacklog(), "nothing piles up")
		}
		standsBy()
		require.Zero(t, holds(d, "10.1.0.0/24"))
		require.InDelta(t, 1, r.metric("netloom_snapshot_revision", ""), 1e9, "it is hot")

		for term, dst := range []string{"10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"} {
			r.apply(wanRule("web", dst))
			api.give(t, "")
			r.after(longest + 5*time.Second)
			require.Equal(t, 1, holds(d, dst), "term %d", term)
			require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State, "term %d", term)
			require.InDelta(t, 1, r.metric("netloom_leader", ""), 0)
			require.InDelta(t, 1, r.metric("netloom_target_up", "cnf-0"), 0)
			_, text := r.readiness()
			require.Equal(t, "ok\n", text)

			api.give(t, "elsewhere")
			r.after(longest)
			r.writes()
			r.told()
			r.apply(wanRule("web", "10.99.0.0/24"))
			standsBy()
			require.Equal(t, 1, holds(d, dst), "what was written stays")
			require.Zero(t, holds(d, "10.99.0.0/24"))
		}
		require.InDelta(t, 7, r.metric("netloom_leader_transitions_total", ""), 0)

		for range 2 { // nothing changes meanwhile
			api.give(t, "")
			r.after(longest + 5*time.Second)
			require.InDelta(t, 1, r.metric("netloom_target_up", "cnf-0"), 0)
			api.give(t, "elsewhere")
			r.after(longest)
			require.False(t, r.counted("openwrt/site/cnf-0"))
		}
	})
}

// electing are options of an instance that is quick to see that the Lease is free, or lost.
func (p *place) electing(l *leases, name string) daemon.Options {
	opts := p.options()
	opts.Leader = leaderOptions(l, name)
	opts.Leader.LeaseDuration, opts.Leader.RenewDeadline, opts.Leader.RetryPeriod = time.Second, 900*time.Millisecond, 20*time.Millisecond
	return opts
}

// claims are the claims of the database, as text.
func (p *place) claims() string { return strings.ReplaceAll(p.server.Dump("NB_Global"), `"`, "") }

func TestTheLeaderClaimsTheDatabaseBeforeItWrites(t *testing.T) {
	p, api := newPlace(t), newLeases()
	a := startReady(t, p.electing(api, "a"))
	require.Contains(t, p.claims(), "netloom-claim:netloom=1 a")
	rows := p.rows()
	require.Contains(t, rows, "ports: shop_web-0, shop_web-1\n")

	b := startReady(t, p.electing(api, "b"))
	_, text := b.get("/readyz")
	require.Equal(t, "ok\nstandby: a leads\n", text)
	require.Zero(t, b.metric("netloom_target_errors_total"))
	before := a.metric("netloom_snapshot_revision")
	p.write(t, "pods.yaml", strings.Replace(podsFile, "{app: web}", "{app: old}", 1))
	a.awaitRevision(before)
	b.await("the standby is hot", func() bool { return b.metric("netloom_snapshot_revision") > before })

	a.stop()
	b.await("the standby takes over", func() bool { return b.metric("netloom_target_up") == 1 })
	require.Contains(t, p.claims(), "netloom-claim:netloom=2 b")
	b.edit(func() { p.write(t, "pods.yaml", podsFile) })
	require.Equal(t, rows, p.rows())
}

// rival claims the database as another process would.
func (p *place) rival(t *testing.T, l *leases, holder string) {
	t.Helper()
	settings := p.options().Target
	settings.Log = testLog(t)
	target, err := builtin.New("ovn", settings)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- target.Run(ctx) }()
	require.Eventually(t, target.Up, patience, tick)
	claimer, ok := target.Backend.(backends.Claimer)
	require.True(t, ok)
	if l != nil {
		l.give(t, holder)
	}
	_, err = claimer.Claim(t.Context(), holder)
	require.NoError(t, err)
	cancel()
	<-done
	require.NoError(t, target.Backend.Close())
}

// TestADeposedLeaderStandsBy has the database tell a leader first that it leads no more: it asks for the Lease every hour.
func TestADeposedLeaderStandsBy(t *testing.T) {
	p, api := newPlace(t), newLeases()
	opts := p.electing(api, "a")
	opts.Leader.LeaseDuration, opts.Leader.RenewDeadline, opts.Leader.RetryPeriod = 3*time.Hour, 2*time.Hour, time.Hour
	a := startReady(t, opts)
	rows := p.rows()
	p.rival(t, api, "b")
	p.write(t, "policies.yaml", strings.Replace(policiesFile, "port: 80}", "port: 81}", 1))
	a.await("it stands by", func() bool { _, text := a.get("/readyz"); return text == "ok\nstandby: b leads\n" })
	require.Equal(t, rows, p.rows(), "nothing of its last plan was written")
	_, metrics := a.get("/metrics")
	require.NotContains(t, metrics, "netloom_target_up{", "which would tell that it is behind")
	require.Contains(t, p.claims(), "netloom-claim:netloom=2 b")
}

// TestAClaimThatComesTooLateIsNotUsed has a leader lose the Lease while it waits for the database: it claims, asks who has the
// Lease, and does not write.
func TestAClaimThatComesTooLateIsNotUsed(t *testing.T) {
	p, api := newSilentPlace(t), newLeases()
	rows := p.rows()
	opts := p.electing(api, "a")
	opts.Leader.LeaseDuration, opts.Leader.RenewDeadline, opts.Leader.RetryPeriod = 3*time.Hour, 2*time.Hour, time.Hour
	a := start(t, opts)
	a.await("it leads", func() bool { return a.metric("netloom_leader") == 1 })
	api.give(t, "b")
	require.NoError(t, p.server.Start(p.socket))
	a.await("it stands by", func() bool { _, text := a.get("/readyz"); return text == "ok\nstandby: b leads\n" })
	require.Contains(t, p.claims(), "netloom-claim:netloom=1 a")
	require.Equal(t, rows, p.rows())
}

// TestALeaderThatIsDeposedClaimsAgain has somebody claim the database who does not go by the Lease.
func TestALeaderThatIsDeposedClaimsAgain(t *testing.T) {
	p, api := newPlace(t), newLeases()
	a := startReady(t, p.electing(api, "a"))
	p.rival(t, nil, "b")
	a.edit(func() { p.write(t, "policies.yaml", strings.Replace(policiesFile, "port: 80}", "port: 81}", 1)) })
	require.Contains(t, p.rows(), "tcp.dst == 81")
	require.Contains(t, p.claims(), "netloom-claim:netloom=3 a")
	require.InDelta(t, 1, a.metric("netloom_leader_transitions_total"), 0, "it led all the time")
}

// TestADatabaseThatIsDownKeepsNobodyFromLeading brings the database up after the leader.
func TestADatabaseThatIsDownKeepsNobodyFromLeading(t *testing.T) {
	p, api := newSilentPlace(t), newLeases()
	a := start(t, p.electing(api, "a"))
	a.await("it says why it does not write", func() bool {
		code, text := a.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.HasPrefix(text, "target ovn does not agree yet: claim the database: ")
	})
	require.InDelta(t, 1, a.metric("netloom_leader"), 0)
	require.Positive(t, a.metric("netloom_target_errors_total"))
	require.NoError(t, p.server.Start(p.socket))
	a.await("ready", func() bool { code, _ := a.get("/readyz"); return code == http.StatusOK })
	require.Contains(t, p.claims(), "netloom-claim:netloom=1 a")
	require.InDelta(t, 1, a.metric("netloom_leader_transitions_total"), 0, "it led all the time")
}

// TestOnlyAnEarlyFirstTermIsForced has standbys that were told to force begin to lead soon, late and again.
func TestOnlyAnEarlyFirstTermIsForced(t *testing.T) {
	standby := func(force bool) *daemon.Daemon {
		opts := newPlace(t).electing(newLeases(), "a")
		opts.Force = force
		d, err := daemon.New(opts, testLog(t))
		require.NoError(t, err)
		t.Cleanup(d.Close)
		return d
	}
	soon := time.Now().Add(time.Minute)
	d := standby(true)
	require.True(t, d.Forces(soon))
	require.False(t, d.Forces(soon), "a second term")
	require.False(t, standby(true).Forces(time.Now().Add(time.Hour)), "it was meant for an hour ago")
	require.False(t, standby(false).Forces(soon))
}

// TestForceReachesTheLeader empties most of a database under an election, which takes force.
func TestForceReachesTheLeader(t *testing.T) {
	p := newPlace(t)
	startReady(t, p.options()).stop()
	require.NotZero(t, p.owned(t, "netloom"))
	p.write(t, "policies.yaml", "")
	opts := p.electing(newLeases(), "a")
	opts.Reconcile.MaxDeleteFraction = 0.01
	a := start(t, opts)
	a.await("rows are kept", func() bool { _, text := a.get("/readyz"); return strings.Contains(text, "kept in force") })
	require.NotZero(t, p.owned(t, "netloom"))
	a.stop()
	opts.Force = true
	opts.Leader.Leases = newLeases()
	startReady(t, opts)
	require.Zero(t, p.owned(t, "netloom"))
}
