package daemon_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// moveDatabase is an edit that shows in the rows as port 6000.
func (p *place) moveDatabase(t *testing.T) {
	t.Helper()
	p.write(t, "policies.yaml", strings.Replace(policiesFile, "5432", "6000", 1))
}

func (p *place) moved() bool {
	rows := p.rows()
	return strings.Contains(rows, "tcp.dst == 6000") && !strings.Contains(rows, "5432")
}

func TestADatabaseThatComesUpLate(t *testing.T) {
	p := newSilentPlace(t)
	r := start(t, p.options())
	r.await("a snapshot", func() bool { code, _ := r.get("/debug/snapshot"); return code == http.StatusOK })
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "target ovn is not in sync yet")
	require.NotContains(t, body, "the source has not synced")

	require.NoError(t, p.server.Start(p.socket))
	r.await("ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
	require.Contains(t, p.rows(), "tcp.dst == 5432")
}

func TestADroppedConnectionComesBack(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.options())
	p.server.Reset()
	p.server.Drop()
	p.moveDatabase(t)
	r.await("the edit in force", p.moved)
	r.await("the target to be in sync", func() bool { return r.metric("netloom_target_up") == 1 })
	require.Equal(t, 1, p.server.Transactions(), "what is in place is not written again")
}

func TestAServerThatPausesIsWaitedFor(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.options())
	before := r.metric("netloom_snapshot_revision")
	p.server.Reset()
	p.server.Hang()
	p.moveDatabase(t)
	r.await("the next snapshot", func() bool { return r.metric("netloom_snapshot_revision") > before })
	p.server.Resume()
	r.awaitRevision(before)
	require.True(t, p.moved(), p.rows())
	require.Equal(t, 1, p.server.Transactions())
	require.Zero(t, r.metric("netloom_target_errors_total"))
}

func TestAHungServerIsLeftAndFoundAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	opts := p.options()
	opts.Target.OVN.Endpoints = append(opts.Target.OVN.Endpoints, p.socket+".other") // no server listens there
	r := startReady(t, opts)
	p.server.Hang()
	p.moveDatabase(t)
	r.await("the loss to be noticed", func() bool { return r.metric("netloom_target_up") == 0 })
	code, _ := r.get("/readyz")
	require.Equal(t, http.StatusOK, code, "a daemon that was ready once stays so")
	p.server.Resume()
	r.await("the edit in force", p.moved)
	r.await("the target to be in sync", func() bool { return r.metric("netloom_target_up") == 1 })
	require.Positive(t, r.metric("netloom_target_errors_total"))
}

func TestARefusedWriteIsTriedAgain(t *testing.T) {
	for name, stage := range map[string]simulator.Stage{
		"refused": simulator.BeforeCommit, "answer lost": simulator.AfterCommit,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			r := startReady(t, p.options())
			p.server.FailAt(1, stage)
			r.edit(func() { p.moveDatabase(t) })
			require.True(t, p.moved(), p.rows())
			require.Positive(t, r.metric("netloom_target_errors_total"))
		})
	}
}

func TestDamageIsRepairedAndCounted(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	opts.Reconcile.MaxInterval = 20 * time.Millisecond
	r := startReady(t, opts)
	rows := p.rows()
	require.Zero(t, r.metric("netloom_drift_found_total"))

	_, err := p.server.Transact(
		libovsdb.Operation{
			Op: "update", Table: "ACL", Row: libovsdb.Row{"action": "allow", "match": "ip"},
			Where: []libovsdb.Condition{{Column: "action", Function: libovsdb.ConditionEqual, Value: "drop"}},
		},
		libovsdb.Operation{
			Op: "delete", Table: "Address_Set",
			Where: []libovsdb.Condition{{Column: "name", Function: libovsdb.ConditionNotEqual, Value: "foreign"}},
		},
	)
	require.NoError(t, err)
	require.NotEqual(t, rows, p.rows())
	r.await("the repair", func() bool { return p.rows() == rows })
	r.await("the count", func() bool { return r.metric("netloom_drift_found_total") >= 2 })

	_, err = p.server.Transact(libovsdb.Operation{
		Op: "update", Table: "Address_Set", Row: libovsdb.Row{"addresses": "192.0.2.77"},
		Where: []libovsdb.Condition{{Column: "name", Function: libovsdb.ConditionEqual, Value: "foreign"}},
	})
	require.NoError(t, err)
	found, plans := r.metric("netloom_drift_found_total"), r.metric("netloom_plan_duration_seconds_count")
	r.await("two more checks", func() bool { return r.metric("netloom_plan_duration_seconds_count") >= plans+2 })
	require.Contains(t, p.rows(), "192.0.2.77", "foreign rows are not repaired")
	require.InDelta(t, found, r.metric("netloom_drift_found_total"), 0)
}
