package openwrt_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// newPartsRig is a device with the zones of a change and what was there before it.
func newPartsRig(t testing.TB, zones []*intent.DeviceIntent, tc change) *rig {
	t.Helper()
	r := newRig(t)
	r.secrets[pskRef] = []byte("only-for-tests")
	r.put(zones...)
	r.put(tc.before...)
	require.Empty(t, r.reconcile(t).Skips)
	r.device.Reset()
	return r
}

func changeNamed(t testing.TB, name string) (zones []*intent.DeviceIntent, tc change) {
	t.Helper()
	zones, list := changesOfParts()
	at := slices.IndexFunc(list, func(c change) bool { return c.name == name })
	require.GreaterOrEqual(t, at, 0)
	return zones, list[at]
}

// TestForwardingWaitsForItsTunnel has every write of a change fail that brings a tunnel and a forwarding to it: no packet leaves without the
// tunnel, before or after the next attempt.
func TestForwardingWaitsForItsTunnel(t *testing.T) {
	zones, tc := changeNamed(t, "a tunnel comes with a forwarding")
	for k := 1; ; k++ {
		r := newPartsRig(t, zones, tc)
		r.put(tc.after...)
		p := r.plan(t)
		r.device.FailAt(k, simulator.BeforeWrite)
		err := r.backend.Apply(t.Context(), p)
		r.requireNot(t, tc, "after a failed write")
		if err == nil {
			require.Greater(t, k, 7, "two notes and three objects, and two reloads")
			require.Equal(t, simulator.Accept, r.device.Trace(tc.packet).Verdict)
			return
		}
		if k%2 == 0 {
			r.restart(t, "a")
		}
		r.reached = 0
		r.applyEach(t, r.plan(t), tc)
		require.Equal(t, simulator.Accept, r.device.Trace(tc.packet).Verdict, "write %d", k)
		r.requireSettled(t)
	}
}

// TestOwedReloadWaitsForTunnels has the firewall be owed a reload, by which it would forward to a tunnel that cannot be loaded.
func TestOwedReloadWaitsForTunnels(t *testing.T) {
	zones, tc := changeNamed(t, "a tunnel comes with a forwarding")
	r := newPartsRig(t, zones, tc)
	r.put(tc.after[0]) // the forwarding
	p := r.plan(t)
	require.Equal(t, 1, verbs(p)[backends.Reload])
	r.device.FailAt(3, simulator.BeforeWrite) // after the note and the forwarding
	require.Error(t, r.backend.Apply(t.Context(), p))
	r.put(tc.after...)
	r.restart(t, "a")
	for range 3 {
		r.reached = 0
		p = r.plan(t)
		at := slices.IndexFunc(p.Ops, func(op backends.Op) bool { return op.Verb == backends.Reload })
		require.Equal(t, "ipsec", p.Ops[at].Name)
		before := at // writes of objects
		if at > 0 {
			before++ // a note
		}
		r.device.FailAt(before+1, simulator.BeforeWrite)
		require.Error(t, r.backend.Apply(t.Context(), p))
		r.requireNot(t, tc, "while ipsec cannot be reloaded")
		require.NotContains(t, r.reloads(), "firewall reload")
	}
	r.applyEach(t, r.readBack(t), tc)
	require.Equal(t, simulator.Accept, r.device.Trace(tc.packet).Verdict)
	r.requireSettled(t)
}

// TestWhatClosesDoesNotWaitForTunnels has ipsec fail while the firewall only closes.
func TestWhatClosesDoesNotWaitForTunnels(t *testing.T) {
	zones, tc := changeNamed(t, "a tunnel comes with a forwarding")
	tc.before, tc.after = tc.after[:1], tc.after[1:]
	r := newPartsRig(t, zones, tc)
	r.drop(tc.before...)
	r.put(tc.after...)
	p := r.plan(t)
	r.device.FailAt(3, simulator.BeforeWrite) // after the note and the proposal
	require.Error(t, r.backend.Apply(t.Context(), p))
	require.Equal(t, []string{"firewall reload"}, r.reloads())
	r.requireNot(t, tc, "without the forwarding")
}

// TestTranslationIsWithdrawnForAnOwedReload has the reload of the firewall fail before a translation leads elsewhere.
func TestTranslationIsWithdrawnForAnOwedReload(t *testing.T) {
	zones, tc := changeNamed(t, "a CNFNAT leads to what is protected now")
	r := newPartsRig(t, zones, tc)
	r.drop(tc.before[len(tc.before)-1]) // what protects the old destination
	r.put(tc.after[1])                  // what protects the new one
	p := r.plan(t)
	require.Equal(t, map[backends.Verb]int{backends.Create: 1, backends.Delete: 1, backends.Reload: 1}, verbs(p))
	r.device.FailAt(4, simulator.BeforeWrite) // after the note and both rules
	require.Error(t, r.backend.Apply(t.Context(), p))
	r.reached = 0
	r.put(tc.after...)
	p = r.plan(t)
	require.NotContains(t, text(t, p), "firewall/rules", "only its reload is owed")
	r.applyEach(t, p, tc)
	r.requireSettled(t)
}

// TestPauseOfAServiceIsItsOwn changes several services after one of them was reloaded: only what has to follow that one waits for it.
func TestPauseOfAServiceIsItsOwn(t *testing.T) {
	zones, list := changesOfParts()
	tunnel, wan, nat := list[8].after, list[7].after, list[0].after
	for _, tc := range []struct {
		name    string
		before  []*intent.DeviceIntent // was there for long
		pausing *intent.DeviceIntent   // comes, so that its service is reloaded
		gone    *intent.DeviceIntent   // goes then
		later   []*intent.DeviceIntent // come then
		first   []string               // reloads that do not wait
		last    []string
	}{
		{
			name: "ipsec pauses, and the firewall closes", pausing: tunnel[1], later: slices.Concat(tunnel[2:], wan, nat[1:2]),
			first: []string{"firewall reload", "mwan3 reload"}, last: []string{"ipsec reload"},
		},
		{
			name: "ipsec pauses, and the firewall opens", pausing: tunnel[1], later: slices.Concat(tunnel, wan),
			last: []string{"ipsec reload", "firewall reload", "mwan3 reload"},
		},
		{
			name: "mwan3 pauses, and a tunnel goes", before: tunnel, pausing: wan[0], gone: tunnel[2], later: wan,
			first: []string{"ipsec reload"}, last: []string{"mwan3 reload"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.pause = time.Hour
				r.restart(t, "a")
				r.secrets[pskRef] = []byte("only-for-tests")
				r.put(zones...)
				r.put(tc.before...)
				r.reconcile(t)
				time.Sleep(r.pause)
				r.put(tc.pausing)
				r.reconcile(t)
				r.reloads()
				if tc.gone != nil {
					r.drop(tc.gone)
				}
				r.put(tc.later...)
				p := r.plan(t)
				done := make(chan error, 1)
				go func() { done <- r.backend.Apply(t.Context(), p) }()
				synctest.Wait()
				require.Equal(t, tc.first, r.reloads())
				require.NoError(t, <-done)
				require.Equal(t, tc.last, r.reloads())
			})
		})
	}
}

// TestWhatClosesWaitsForFailingTunnelsOnce has the reload of ipsec fail again and again while a forwarding into its tunnel waits. A rule that
// denies, which comes later, does not wait with it.
func TestWhatClosesWaitsForFailingTunnelsOnce(t *testing.T) {
	zones, tunnelCase := changeNamed(t, "a tunnel comes with a forwarding")
	_, protectCase := changeNamed(t, "a CNFNAT comes with the rule that protects where it leads")
	tc := change{before: []*intent.DeviceIntent{protectCase.before[0]}}
	r := newPartsRig(t, zones, tc)
	direct := simulator.Packet{In: "net1", Src: addr("9.9.9.9"), Dst: addr("172.16.70.7"), Proto: "tcp", SrcPort: 1, DstPort: 80}
	require.Equal(t, simulator.Accept, r.device.Trace(direct).Verdict)
	r.put(tunnelCase.after...)
	try := func() {
		r.reached = 0
		p := r.plan(t)
		at := slices.IndexFunc(p.Ops, func(op backends.Op) bool { return op.Verb == backends.Reload })
		require.Equal(t, "ipsec", p.Ops[at].Name)
		before := at
		if at > 0 {
			before++
		}
		r.device.FailAt(before+1, simulator.BeforeWrite)
		require.Error(t, r.backend.Apply(t.Context(), p))
	}
	try()
	r.put(protectCase.after[1])
	try()
	require.NotEqual(t, simulator.Accept, r.device.Trace(direct).Verdict, "the new REJECT is in force although ipsec fails")
}

// TestATunnelGoesOnlyAfterItsForwarding has each write fail, one at a time, while a tunnel goes with the forwarding into it, and then writes what is
// left, one op at a time. At no time does the forwarding lead where the tunnel was.
func TestATunnelGoesOnlyAfterItsForwarding(t *testing.T) {
	zones, tc := changeNamed(t, "a tunnel goes with a forwarding")
	const writes = 14 // more than there are
	failed := 0
	for k := 1; k < writes; k++ {
		r := newPartsRig(t, zones, tc)
		for _, gone := range tc.before {
			r.drop(gone)
		}
		p := r.plan(t)
		r.device.FailAt(k, simulator.BeforeWrite)
		err := r.backend.Apply(t.Context(), p)
		r.requireNot(t, tc, "right after the failed apply")
		if err == nil {
			continue
		}
		failed++
		r.reached = 0
		r.applyEach(t, r.plan(t), tc)
	}
	require.Greater(t, failed, 3)
}
