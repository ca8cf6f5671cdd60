package openwrt_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// manyRules are rules of a zone, each of which the device takes.
func manyRules(zone *intent.DeviceIntent, n int) []*intent.DeviceIntent {
	var out []*intent.DeviceIntent
	for i := range n {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		out = append(out, of("FirewallRule", fmt.Sprintf("rule-number-%d", i), &intent.FirewallRule{
			From: ref(zone), Decides: intent.Accept, Match: intent.Match{Src: netip.PrefixFrom(a, 32), Protocol: "tcp", DstPort: 8080},
		}, zone))
	}
	return out
}

// TestPackageThatWouldBeTooLarge has more rules than the device can read: those that fit are written, and nothing fails.
func TestPackageThatWouldBeTooLarge(t *testing.T) {
	r := newRig(t)
	r.device.Close()
	r.device = newDevice(t, simulator.Options{MessageLimit: 1 << 20, Patience: 1, Respawn: 1})
	r.client = connect(t, r.device)
	r.restart(t, "a")
	zone := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}})
	r.put(append(manyRules(zone, 3000), zone)...)
	p := r.reconcile(t)
	require.NotEmpty(t, p.Skips)
	require.Contains(t, p.Skips[0].Reason, "the package firewall of the device would have")
	all, err := r.client.List(t.Context(), openwrt.FirewallRules)
	require.NoError(t, err)
	require.Greater(t, len(all), 1900)
	require.Len(t, all, 3000-len(p.Skips))
	require.Less(t, r.device.PackageSize("firewall"), 1<<20)
	p = r.reconcileFully(t)
	require.Empty(t, p.Ops, "what fits is known from the device")
	require.Len(t, p.Skips, 3000-len(all))
	r.drop(manyRules(zone, 500)...)
	r.reconcile(t)
	require.Len(t, r.reconcileFully(t).Skips, 3000-len(all)-500)
	require.Empty(t, r.readBack(t).Ops)
}

// TestPackageThatIsTooLarge has others make a package too large, so that reading it ends a daemon of the device: nothing is
// written for it, the device is left alone for a while, and everything else goes on.
func TestPackageThatIsTooLarge(t *testing.T) {
	for name, restart := range map[string]bool{"by the process that knows": false, "by another process": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.device.Close()
				r.device = newDevice(t, simulator.Options{MessageLimit: 32 << 10})
				r.client = connect(t, r.device)
				r.restart(t, "a")
				e := r.fill(t)
				require.Empty(t, r.reconcile(t).Skips)
				before := r.device.Export("firewall")
				for i := range 300 {
					require.NoError(t, r.device.AddSection("firewall", "rule", "", map[string]any{"name": fmt.Sprintf("hand-%d", i), "src": "lan", "target": "DROP"}))
				}
				r.maybeRestart(t, restart)
				r.drop(e.routeRule)
				full := r.device.Export("firewall")
				r.device.Reset()
				done, failed := 0, 0
				for range 10 { // five minutes
					time.Sleep(30 * time.Second)
					p, err := r.backend.Plan(t.Context(), r.snap, 0)
					if err != nil {
						failed++
						continue
					}
					for i := range p.Ops {
						require.NotContains(t, p.Ops[i].Kind, "firewall/", "%+v", p.Ops[i])
					}
					require.NoError(t, r.backend.Apply(t.Context(), p))
					require.Contains(t, skipOf(p, e.lan), "not read for now")
					done++
				}
				require.LessOrEqual(t, failed, 4, "each attempt may end the daemon")
				require.GreaterOrEqual(t, done, 6)
				reads := 0
				for _, q := range r.device.Requests() {
					if strings.Contains(q.Path, "/firewall/") {
						reads++
					}
				}
				require.LessOrEqual(t, reads, 4)
				require.Equal(t, full, r.device.Export("firewall"))
				require.NotContains(t, r.device.Export("rule-cnf"), "192.167.24.0/24")
				for i := range 300 {
					r.device.RemoveSection("firewall", "rule", fmt.Sprintf("hand-%d", i))
				}
				require.Equal(t, before, r.device.Export("firewall"))
				var p *backends.Plan
				for range 32 {
					time.Sleep(30 * time.Second)
					if p, _ = r.backend.Plan(t.Context(), r.snap, 0); p != nil && len(p.Skips) == 0 {
						break
					}
				}
				require.Empty(t, p.Skips)
				require.Empty(t, text(t, p))
				r.client.Close()
				r.device.Close()
			})
		})
	}
}

// TestADeviceThatComesBackHasNoPackageThatIsTooLarge resumes a hanging device while netloom asks whether it answers anything but a list that
// did not arrive.
func TestADeviceThatComesBackHasNoPackageThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fill(t)
		require.Empty(t, r.reconcile(t).Skips)
		r.device.Hang()
		r.restart(t, "a")
		_, err := r.backend.Plan(t.Context(), r.snap, 0)
		require.ErrorIs(t, err, backends.ErrUnreachable)
		began := time.Now()
		_, err = r.backend.Plan(t.Context(), r.snap, 0)
		require.ErrorIs(t, err, backends.ErrUnreachable)
		time.AfterFunc(time.Since(began)*3/4, r.device.Resume) // of the time for a list and another answer
		_, err = r.backend.Plan(t.Context(), r.snap, 0)
		require.ErrorIs(t, err, backends.ErrUnreachable)
		p, err := r.backend.Plan(t.Context(), r.snap, 0)
		require.NoError(t, err)
		require.Empty(t, p.Skips)
		require.Empty(t, p.Ops)
	})
}
