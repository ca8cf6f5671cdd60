//go:build e2e && upgrade

package e2ekube_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/upgrade"
)

// TestReplicasOfTwoVersions upgrades one replica and not yet the other, for each earlier version. The Lease goes up, down and up again, by
// leaders that stop and one that is killed among changes. Only the holder of the newest claim writes, whatever its version; while no object
// changes, no committed state has another verdict than before; and the rows follow the objects under each leader.
func TestReplicasOfTwoVersions(t *testing.T) {
	for _, v := range upgrade.Versions() {
		t.Run(v.Name(), func(t *testing.T) {
			old := v.Program(t)
			program, err := buildOnce()
			require.NoError(t, err)
			r := replicasOf(t, defaultLease, old.Path(), program)
			r.peopled()
			r.kube.Apply(policies)
			r.converge()

			t.Log("the old leader stops, and comes back to stand by")
			r.sameVerdicts(func() { r.handOver(2, 0, 1) })
			r.kube.Apply(webReaches("5432"))
			r.converge()
			r.pods[0].Restart()
			r.pods[0].AwaitReady()

			t.Log("the new leader is killed among changes")
			s := r.storm(100)
			time.Sleep(time.Second) // pause: of changes, however many
			r.pods[1].Kill()
			r.netloom = r.pods[0]
			r.awaitClaim(3, "netloom-0")
			time.Sleep(time.Second) // pause: of changes
			s.end()
			r.converge()
			r.pods[1].Restart()
			r.pods[1].AwaitReady()

			t.Log("the old leader stops again")
			r.sameVerdicts(func() { r.handOver(4, 0, 1) })
			r.requireNothingToDo()
			r.requireOneWriter(4)
		})
	}
}

// handOver stops a replica and waits until the other has made a claim and written.
func (r *replicas) handOver(claim, from, to int) {
	r.t.Helper()
	require.NoError(r.t, r.pods[from].Signal(syscall.SIGTERM))
	r.netloom = r.pods[to]
	r.awaitClaim(claim, fmt.Sprintf("netloom-%d", to))
	r.awaitReadiness("ok\n")
	r.converge()
}

// sameVerdicts runs what changes no object, and requires that no state on the way has another verdict than the first.
func (r *replicas) sameVerdicts(run func()) {
	r.t.Helper()
	flows, history := flows(r.cluster()), upgrade.Watch(r.t, r.ovn.NBTCP())
	before := history.Sync(r.t)
	stop := history.Follow()
	run()
	stop()
	states := history.Since(r.t, before)
	require.Greater(r.t, len(states), 1, "the new leader claimed and wrote")
	var want []bool
	for i, state := range states {
		tracer, err := nbtrace.New(state.Rows(r.t))
		require.NoError(r.t, err)
		for k, f := range flows {
			got := tracer.Trace(packet(f)).Allowed
			if i == 0 {
				want = append(want, got)
			}
			require.Equal(r.t, want[k], got, "state %d of %d: %s to %s, port %d", i, len(states), f.Src.Pod, f.Dst.Pod, f.Port)
		}
	}
	r.t.Logf("%d flows in %d states", len(flows), len(states))
}

// packet is the first packet of a flow.
func packet(f oracle.Flow) nbtrace.Packet {
	return nbtrace.Packet{
		Inport: portOf(f.Src.Pod), Outport: portOf(f.Dst.Pod), Src: f.Src.Addr, Dst: f.Dst.Addr,
		Protocol: syscall.IPPROTO_TCP, SrcPort: 40000, DstPort: uint16(f.Port),
	}
}

// portOf is the logical port of the pod NAMESPACE/NAME; "" for the outside.
func portOf(name string) string {
	for _, p := range places {
		if p.namespace+"/"+p.name == name {
			return p.port()
		}
	}
	return ""
}
