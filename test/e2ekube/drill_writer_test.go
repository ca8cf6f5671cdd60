//go:build e2e

package e2ekube_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

var drillsFlag = flag.Bool("drills", false, "run each drill in full, for the table of `make drills`")

// reportDrill prints a line of the table of drills: what was done, for how long something was open, how long changes of others took,
// netloom's memory at its highest, and what the operator was told.
func reportDrill(t *testing.T, netloom int, attack, open, others, told string) {
	t.Helper()
	t.Logf("drill: | %s | %s | %s | %s | %s |", attack, open, others, mib(peakOf(netloom)), told)
}

// intruder is a client that writes into the database.
type intruder struct {
	*ovsdbtest.Raw
	d     *drill
	group any // of the pods that are isolated
}

// TestDrillWriter has somebody take the ports out of the group that isolates pods, again and again.
func TestDrillWriter(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "", "feedback")
	definition, err := os.ReadFile(root + "/deploy/crds/netloom.io_policystatuses.yaml")
	require.NoError(t, err)
	d.kube.Apply(string(definition))
	await.True(t, func() bool { return d.reasonOf("team-1", "web") == "Enforced" }, "the PolicyStatus")
	d.witness.release(protected(0, teams)...)
	in := d.intrude()
	defer in.Close()

	t.Log("each change is undone by itself")
	for range 5 { // as many as are repaired at once
		in.clear()
		d.awaitClosed()
		d.awaitInSync()
	}
	metrics := d.metrics()
	require.Contains(t, metrics, `netloom_readbacks_total{reason="foreign-change",target="ovn"} 0`)
	require.Contains(t, metrics, `netloom_target_contested{target="ovn"} 0`)

	t.Log("one that writes as fast as it can contests the target")
	stop := in.storm()
	defer stop()
	await.True(t, d.contested, "the contest")
	said, err := d.netloom.Get("/readyz")
	require.NoError(t, err)
	require.Contains(t, said, "degraded: ovn is contested: someone else changes Port_Group ")
	require.Contains(t, said, " (ports) faster than it is repaired; connected: ptcp:")
	require.Contains(t, d.metrics(), `netloom_target_up{target="ovn"} 0`)
	require.NotContains(t, d.metrics(), "netloom_oldest_unenforced_change_seconds 0\n")
	await.True(t, func() bool { return d.reasonOf("team-1", "web") == "ChangedByOthers" }, "the PolicyStatus")

	t.Log("it gives up")
	stop()
	d.awaitClosed()
	await.True(t, func() bool { d.netloom.Running(); return !d.contested() }, "the end of the contest")
	await.True(t, func() bool { return d.reasonOf("team-1", "web") == "Enforced" }, "the PolicyStatus")
	d.awaitInSync()

	if *drillsFlag {
		in.share(3*time.Second, 20, 0.02)
		in.share(300*time.Millisecond, 200, 0.1)
		in.share(30*time.Millisecond, 2000, 1)
	}
}

// intrude connects to a listener that the database has a row for.
func (d *drill) intrude() *intruder {
	d.t.Helper()
	address := ovnlab.FreeAddress(d.t)
	_, port, err := splitAddress(address)
	require.NoError(d.t, err)
	wire, err := ovsdbtest.DialRaw(d.t.Context(), d.witness.database, "OVN_Northbound")
	require.NoError(d.t, err)
	_, err = wire.Transact(
		map[string]any{"op": "insert", "table": "Connection", "uuid-name": "listener", "row": map[string]any{
			"target": "ptcp:" + port + ":127.0.0.1", "inactivity_probe": 0, // the intruder does not answer
		}},
		map[string]any{"op": "mutate", "table": "NB_Global", "where": []any{}, "mutations": []any{
			[]any{"connections", "insert", []any{"named-uuid", "listener"}},
		}})
	require.NoError(d.t, err)
	require.NoError(d.t, wire.Close())
	in := &intruder{d: d}
	await.True(d.t, func() bool {
		in.Raw, err = ovsdbtest.DialRaw(d.t.Context(), "tcp:"+address, "OVN_Northbound")
		return err == nil
	}, "the listener")
	rows, err := in.Select("Port_Group", []libovsdb.Condition{{
		Column: "external_ids", Function: libovsdb.ConditionIncludes,
		Value: libovsdb.OvsMap{GoMap: map[any]any{"netloom.io/id": "isolated/ingress"}},
	}}, "_uuid")
	require.NoError(d.t, err)
	require.Len(d.t, rows, 1)
	in.group = rows[0]["_uuid"]
	return in
}

// clear takes the ports out of the group.
func (in *intruder) clear() {
	in.d.t.Helper()
	require.NoError(in.d.t, in.empty())
}

func (in *intruder) empty() error {
	_, err := in.Transact(map[string]any{
		"op": "update", "table": "Port_Group", "where": []any{[]any{"_uuid", "==", in.group}}, "row": map[string]any{"ports": []any{"set", []any{}}},
	})
	return err
}

// storm clears the group as fast as it can until it is stopped. The intruder must not be used meanwhile.
func (in *intruder) storm() (stop func()) {
	enough, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-enough:
				return
			default:
				if in.empty() != nil {
					return
				}
			}
		}
	}()
	return sync.OnceFunc(func() { close(enough); <-ended })
}

// share writes n times, at a distance, and requires that an isolated pod is open for less than a share of the time, or that netloom
// says within a second that the target is contested.
func (in *intruder) share(every time.Duration, n int, most float64) {
	d := in.d
	open := d.witness.timeOpen(toPod(1, 0))
	began, told := time.Now(), time.Duration(0)
	for range n {
		in.clear()
		time.Sleep(every) // pause: the distance of the changes, in `make drills` only
		if told == 0 && d.contested() {
			told = time.Since(began)
		}
	}
	spent, times := open()
	is := spent.Seconds() / time.Since(began).Seconds()
	said := fmt.Sprintf("log, drift counter: %d repairs", times)
	if told > 0 {
		said = fmt.Sprintf("contested, after %.1f s, with the row and the connections", told.Seconds())
	}
	reportDrill(d.t, d.netloom.PID(), fmt.Sprintf("a writer empties the isolating group every %v", every), fmt.Sprintf("%.1f %% of the time", 100*is), "–", said)
	if most < 1 {
		require.Less(d.t, is, most)
		require.Zero(d.t, told)
	} else {
		require.Positive(d.t, told)
		require.Less(d.t, told, time.Second)
	}
	d.awaitClosed()
	await.True(d.t, func() bool { return !d.contested() }, "the end of the contest")
}

// awaitClosed waits until an isolated pod is closed.
func (d *drill) awaitClosed() {
	d.t.Helper()
	await.True(d.t, func() bool { d.netloom.Running(); return !d.witness.allows(toPod(1, 0)) }, "an isolated pod is closed again")
}

// awaitInSync waits until netloom says that the target is in sync: it does so just after the rows were written.
func (d *drill) awaitInSync() {
	d.t.Helper()
	await.True(d.t, func() bool { return strings.Contains(d.metrics(), `netloom_target_up{target="ovn"} 1`) }, "the target is in sync")
}

func (d *drill) contested() bool {
	said, err := d.netloom.Get("/readyz")
	require.NoError(d.t, err)
	return strings.Contains(said, "contested")
}

func (d *drill) metrics() string {
	said, err := d.netloom.Get("/metrics")
	require.NoError(d.t, err)
	return said
}

// reasonOf returns the reason in the PolicyStatus of a policy; "" if there is none yet.
func (d *drill) reasonOf(namespace, name string) string {
	statuses := d.kube.Objects().Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralPolicyStatus)).Namespace(namespace)
	found, err := statuses.Get(d.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	status := &v1alpha1.PolicyStatus{}
	require.NoError(d.t, runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, status))
	if len(status.Status.Targets) == 0 {
		return ""
	}
	return status.Status.Targets[0].Reason
}
