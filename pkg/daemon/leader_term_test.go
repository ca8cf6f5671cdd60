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

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/election/electiontest"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/test/await"
)

// longest is the longest time between two attempts of a standby: client-go spreads them.
const longest = time.Duration(2.2 * float64(election.DefaultRetryPeriod))

func (r *rig) readiness() (int, string) {
	w := httptest.NewRecorder()
	r.daemon.Handler().ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/readyz", http.NoBody))
	return w.Code, w.Body.String()
}

func TestTermsOfSDWANBeginAndEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		api := electiontest.New()
		api.Give(t, "elsewhere")
		r.opts.Leader = api.Options("here")
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		standsBy := func() {
			t.Helper()
			r.After(2 * time.Minute)
			require.Empty(t, r.Writes(), "no status is written")
			require.Empty(t, r.Recorded(), "no Event is made")
			require.False(t, r.Counted("openwrt/site/cnf-0"), "targets that another instance writes to are not reported")
			require.Zero(t, r.Metric("netloom_leader", ""))
			code, text := r.readiness()
			require.Equal(t, http.StatusOK, code, text)
			require.Equal(t, "ok\nstandby: elsewhere leads\n", text)
			for i := range 50 {
				r.Apply(sdwantest.Rule(fmt.Sprintf("passing-%d", i), "10.9.0.0/24"))
				r.After(time.Second)
				r.Remove("Mwan3Rule", fmt.Sprintf("passing-%d", i))
				r.After(time.Second)
			}
		}
		standsBy()
		require.Zero(t, sdwantest.RulesTo(d, "10.1.0.0/24"))
		require.InDelta(t, 1, r.Metric("netloom_snapshot_revision", ""), 1e9, "it is hot")

		for term, dst := range []string{"10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"} {
			r.Apply(sdwantest.Rule("web", dst))
			api.Give(t, "")
			r.After(longest + 5*time.Second)
			require.Equal(t, 1, sdwantest.RulesTo(d, dst), "term %d", term)
			require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State, "term %d", term)
			require.InDelta(t, 1, r.Metric("netloom_leader", ""), 0)
			require.InDelta(t, 1, r.Metric("netloom_target_up", "cnf-0"), 0)
			_, text := r.readiness()
			require.True(t, isWell(text), text)

			api.Give(t, "elsewhere")
			r.After(longest)
			r.Writes()
			r.Recorded()
			r.Apply(sdwantest.Rule("web", "10.99.0.0/24"))
			standsBy()
			require.Equal(t, 1, sdwantest.RulesTo(d, dst), "what was written stays")
			require.Zero(t, sdwantest.RulesTo(d, "10.99.0.0/24"))
		}
		require.InDelta(t, 7, r.Metric("netloom_leader_transitions_total", ""), 0)

		for range 2 { // nothing changes meanwhile
			api.Give(t, "")
			r.After(longest + 5*time.Second)
			require.InDelta(t, 1, r.Metric("netloom_target_up", "cnf-0"), 0)
			api.Give(t, "elsewhere")
			r.After(longest)
			require.False(t, r.Counted("openwrt/site/cnf-0"))
		}
	})
}

// electing are options of an instance that is quick to see that the Lease is free, or lost.
func (p *place) electing(l *electiontest.Leases, name string) daemon.Options {
	opts := p.options()
	opts.Leader = l.Options(name)
	opts.Leader.LeaseDuration, opts.Leader.RenewDeadline, opts.Leader.RetryPeriod = time.Second, 900*time.Millisecond, 20*time.Millisecond
	return opts
}

// claims are the claims of the database, as text.
func (p *place) claims() string { return strings.ReplaceAll(p.server.Dump("NB_Global"), `"`, "") }

func TestTheLeaderClaimsTheDatabaseBeforeItWrites(t *testing.T) {
	p, api := newPlace(t), electiontest.New()
	a := startReady(t, p.electing(api, "a"))
	require.Contains(t, p.claims(), "netloom-claim:netloom=1 a")
	rows := p.rows()
	require.Contains(t, rows, "ports: shop_web-0, shop_web-1\n")

	b := startReady(t, p.electing(api, "b"))
	_, text := b.get("/readyz")
	require.Equal(t, "ok\nstandby: a leads\n", withoutConfirmed(text))
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
func (p *place) rival(t *testing.T, l *electiontest.Leases, holder string) {
	t.Helper()
	settings := p.options().Target
	settings.Log = testLog(t)
	target, err := builtin.New("ovn", settings)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- target.Run(ctx) }()
	await.True(t, target.Up, "a connection")
	claimer, ok := target.Backend.(backends.Claimer)
	require.True(t, ok)
	if l != nil {
		l.Give(t, holder)
	}
	_, err = claimer.Claim(t.Context(), holder)
	require.NoError(t, err)
	cancel()
	<-done
	require.NoError(t, target.Backend.Close())
}

// awaitRenewal waits until the first leader of a Lease has renewed it, as it does at once. It does not read it again before the
// retry period is over.
func awaitRenewal(t *testing.T, api *electiontest.Leases) {
	t.Helper()
	await.True(t, func() bool { return api.Writes() >= 2 }, "the leader renews the Lease")
}

// TestADeposedLeaderStandsBy makes a leader learn from the database that it leads no more: it reads the Lease every hour.
func TestADeposedLeaderStandsBy(t *testing.T) {
	p, api := newPlace(t), electiontest.New()
	opts := p.electing(api, "a")
	opts.Leader.LeaseDuration, opts.Leader.RenewDeadline, opts.Leader.RetryPeriod = 3*time.Hour, 2*time.Hour, time.Hour
	a := startReady(t, opts)
	awaitRenewal(t, api)
	rows := p.rows()
	p.rival(t, api, "b")
	p.write(t, "policies.yaml", strings.Replace(policiesFile, "port: 80}", "port: 81}", 1))
	a.await("it stands by", func() bool { _, text := a.get("/readyz"); return withoutConfirmed(text) == "ok\nstandby: b leads\n" })
	require.Equal(t, rows, p.rows(), "its last plan was not written")
	_, metrics := a.get("/metrics")
	require.NotContains(t, metrics, "netloom_target_up{", "it would say that it is behind")
	require.Contains(t, p.claims(), "netloom-claim:netloom=2 b")
}

// TestAClaimThatComesTooLateIsNotUsed has a leader lose the Lease while it waits for the database: it claims, reads the
// Lease, and does not write.
func TestAClaimThatComesTooLateIsNotUsed(t *testing.T) {
	p, api := newSilentPlace(t), electiontest.New()
	rows := p.rows()
	opts := p.electing(api, "a")
	opts.Leader.LeaseDuration, opts.Leader.RenewDeadline, opts.Leader.RetryPeriod = 3*time.Hour, 2*time.Hour, time.Hour
	a := start(t, opts)
	a.await("it leads", func() bool { return a.metric("netloom_leader") == 1 })
	awaitRenewal(t, api)
	api.Give(t, "b")
	require.NoError(t, p.server.Start(p.socket))
	a.await("it stands by", func() bool { _, text := a.get("/readyz"); return withoutConfirmed(text) == "ok\nstandby: b leads\n" })
	require.Contains(t, p.claims(), "netloom-claim:netloom=1 a")
	require.Equal(t, rows, p.rows())
}

// TestALeaderThatIsDeposedClaimsAgain has another process claim the database regardless of the Lease.
func TestALeaderThatIsDeposedClaimsAgain(t *testing.T) {
	t.Parallel()
	p, api := newPlace(t), electiontest.New()
	a := startReady(t, p.electing(api, "a"))
	p.rival(t, nil, "b")
	a.edit(func() { p.write(t, "policies.yaml", strings.Replace(policiesFile, "port: 80}", "port: 81}", 1)) })
	require.Contains(t, p.rows(), "tcp.dst == 81")
	require.Contains(t, p.claims(), "netloom-claim:netloom=3 a")
	require.InDelta(t, 1, a.metric("netloom_leader_transitions_total"), 0, "it led all the time")
}

// TestADatabaseThatIsDownPreventsNoLeader brings the database up after the leader.
func TestADatabaseThatIsDownPreventsNoLeader(t *testing.T) {
	t.Parallel()
	p, api := newSilentPlace(t), electiontest.New()
	a := start(t, p.electing(api, "a"))
	a.await("it says why it does not write", func() bool {
		code, text := a.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.HasPrefix(text, "target ovn is not in sync yet: claim the database: ")
	})
	require.InDelta(t, 1, a.metric("netloom_leader"), 0)
	require.Positive(t, a.metric("netloom_target_errors_total"))
	require.NoError(t, p.server.Start(p.socket))
	a.await("ready", func() bool { code, _ := a.get("/readyz"); return code == http.StatusOK })
	require.Contains(t, p.claims(), "netloom-claim:netloom=1 a")
	require.InDelta(t, 1, a.metric("netloom_leader_transitions_total"), 0, "it led all the time")
}

// TestForceReachesTheLeader empties most of a database under an election, which needs force.
func TestForceReachesTheLeader(t *testing.T) {
	p := newPlace(t)
	startReady(t, p.options()).stop()
	require.NotZero(t, p.owned(t, "netloom"))
	p.write(t, "policies.yaml", "")
	opts := p.electing(electiontest.New(), "a")
	opts.Reconcile.MaxDeleteFraction = 0.01
	a := start(t, opts)
	a.await("rows are kept", func() bool { _, text := a.get("/readyz"); return strings.Contains(text, "kept in force") })
	require.NotZero(t, p.owned(t, "netloom"))
	a.stop()
	opts.Force = true
	opts.Leader.Leases = electiontest.New()
	startReady(t, opts)
	require.Zero(t, p.owned(t, "netloom"))
}

func TestElectionNeedsAnAPI(t *testing.T) {
	opts := newPlace(t).options()
	opts.Leader.Enabled = true
	_, err := daemon.New(opts, testLog(t))
	require.EqualError(t, err, "leader election: the Lease requires a Kubernetes API")
}
