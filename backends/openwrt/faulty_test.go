package openwrt_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// reconcileUntil reconciles as a loop does, which reads everything back after an error, and returns the last plan.
func (r *rig) reconcileUntil(t testing.TB) *backends.Plan {
	t.Helper()
	for range 4 {
		p, err := r.backend.Plan(t.Context(), r.snap, 0)
		require.NoError(t, err)
		if r.backend.Apply(t.Context(), p) == nil {
			r.reached, r.skips = r.snap.Revision(), p.Skips
			return p
		}
	}
	require.Fail(t, "it does not come to an end")
	return nil
}

// requireWritten demands that the device has the objects of intents of some kinds, as many as given.
func (r *rig) requireWritten(t testing.TB, want map[openwrt.Kind]int) {
	t.Helper()
	for kind, n := range want {
		all, err := r.client.List(t.Context(), kind)
		require.NoError(t, err)
		ours := 0
		for _, o := range all {
			if strings.HasPrefix(o.Name(), "n13a6") && !strings.Contains(o.Name(), "_pending_") && !strings.Contains(o.Name(), "_seal_") && !strings.Contains(o.Name(), "_parts_") {
				ours++
			}
		}
		require.Equal(t, n, ours, kind.String())
	}
}

// faults are what others can do to a device so that it answers 500, with the kinds that suffer.
var faults = []struct {
	name   string
	do     func(testing.TB, *rig)
	undo   func(testing.TB, *rig)
	module string
}{
	{
		"a policy made by hand without members",
		func(t testing.TB, r *rig) {
			require.NoError(t, r.device.AddSection("mwan3", "policy", "hand", map[string]any{"last_resort": "default"}))
		},
		func(_ testing.TB, r *rig) { r.device.RemoveSection("mwan3", "policy", "hand") },
		"mwan3",
	},
	{
		"a remote made by hand with a list of certificates",
		func(t testing.TB, r *rig) {
			require.NoError(t, r.device.AddSection("ipsec", "remote", "hand", map[string]any{"local_public_cert": []string{"/a.pem"}}))
		},
		func(_ testing.TB, r *rig) { r.device.RemoveSection("ipsec", "remote", "hand") },
		"ipsec",
	},
}

// TestAFaultyObjectHoldsUpNobody has an object made by hand that the device cannot list: nothing else suffers.
func TestAFaultyObjectHoldsUpNobody(t *testing.T) {
	for _, tc := range faults {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			tc.do(t, r)
			e := r.fill(t)
			p := r.reconcileUntil(t)
			require.NotEmpty(t, p.Skips)
			for _, s := range p.Skips {
				require.Contains(t, s.Reason, "cannot be listed: GET sdewan/"+tc.module)
			}
			require.Equal(t, len(e.list()), len(p.Ops)-verbs(p)[backends.Reload], "the device takes everything all the same")
			require.Zero(t, r.readBack(t).Drift(), "each is read by itself")
			r.restart(t, "a")
			require.Empty(t, r.readBack(t).Ops, "after a restart")
			r.put(e.changes()...)
			r.drop(e.mark)
			require.NotEmpty(t, r.reconcileUntil(t).Skips)
			require.Empty(t, r.readBack(t).Ops)
			tc.undo(t, r)
			require.Empty(t, r.reconcileUntil(t).Skips)
			r.requireSettled(t)
		})
	}
}

// TestDeletionWhileAKindCannotBeListed deletes what intents declare gone; what nobody knows stays until the list works.
func TestDeletionWhileAKindCannotBeListed(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	faults[0].do(t, r)
	gone := *e.wanRule
	gone.Gone = true
	r.put(&gone)
	r.reconcileUntil(t)
	require.NotContains(t, r.device.Export("mwan3"), "config rule 'n13a6")
	r.restart(t, "a")
	r.drop(e.wanRule, e.policy)
	require.NotEmpty(t, r.reconcileUntil(t).Skips)
	require.Contains(t, r.device.Export("mwan3"), "config policy 'n13a6", "nobody knows that it is there")
	faults[0].undo(t, r)
	require.Empty(t, r.reconcileUntil(t).Skips)
	require.NotContains(t, r.device.Export("mwan3"), "config policy 'n13a6")
}

// TestAMissingPackage has the file of a package missing: its lists are empty, and writes fail.
func TestAMissingPackage(t *testing.T) {
	for _, pkg := range []string{"mwan3", "firewall", "ipsec"} {
		t.Run(pkg, func(t *testing.T) {
			r := newRig(t)
			e := r.fill(t)
			r.device.RemovePackage(pkg)
			p := r.reconcileUntil(t)
			held := map[openwrt.Kind]int{
				openwrt.Policies: 1, openwrt.PolicyRules: 1, openwrt.Zones: 2, openwrt.Redirects: 2, openwrt.FirewallRules: 2,
				openwrt.Forwardings: 1, openwrt.Proposals: 1, openwrt.Remotes: 2, openwrt.NATs: 2, openwrt.NetworkRules: 1,
				openwrt.Routes: 1, openwrt.RouteRules: 1, openwrt.Applications: 1,
			}
			for kind := range held {
				if strings.HasPrefix(kind.String(), pkg+"/") {
					held[kind] = 0
				}
			}
			r.requireWritten(t, held)
			require.NotEmpty(t, p.Skips)
			for _, intents := range map[string][]*intent.DeviceIntent{
				"mwan3": {e.policy, e.wanRule}, "firewall": {e.lan, e.wan, e.rule}, "ipsec": {e.proposal, e.site, e.host},
			}[pkg] {
				require.NotEmpty(t, skipOf(p, intents))
			}
			named := false
			for _, s := range p.Skips {
				requireNoSecret(t, s.Reason)
				named = named || strings.Contains(s.Reason, "missing or corrupt") && strings.Contains(s.Reason, "/etc/config/"+pkg)
			}
			require.True(t, named, "%v", p.Skips)
			again := r.reconcileUntil(t)
			require.Zero(t, again.Drift())
			require.Equal(t, p.Skips, again.Skips)
		})
	}
}

// TestACorruptPackage has the file of a package that UCI cannot parse: it is named, nothing of it is written, and all others are.
func TestACorruptPackage(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint("another process: ", restarted), func(t *testing.T) {
			r := newRig(t)
			e := r.fill(t)
			require.Empty(t, r.reconcileUntil(t).Skips)
			r.maybeRestart(t, restarted)
			before := r.device.Export("mwan3")
			repair := r.device.CorruptPackage("mwan3")
			r.drop(e.mark)
			for i := range 3 {
				r.device.Reset()
				p := r.reconcileUntil(t)
				require.True(t, i == 0 || p.Drift() == 0)
				for _, of := range []*intent.DeviceIntent{e.policy, e.wanRule} {
					require.Contains(t, skipOf(p, of), "the file /etc/config/mwan3 is missing or corrupt")
				}
				for _, q := range r.device.Requests() {
					require.False(t, strings.Contains(q.Path, "/mwan3/") && q.Method != http.MethodGet, "%+v", q)
				}
			}
			require.Equal(t, before, r.device.Export("mwan3"))
			r.requireWritten(t, map[openwrt.Kind]int{openwrt.FirewallRules: 1})
			repair()
			require.Empty(t, r.reconcileUntil(t).Skips)
			r.requireSettled(t)
		})
	}
}

// TestASectionOfAnotherType has a section of our name with another type, which the device neither shows nor overwrites.
func TestASectionOfAnotherType(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	p := r.plan(t)
	names := map[string]string{}
	for _, op := range p.Ops {
		names[op.Kind+" "+op.Origin] = op.Name
	}
	require.NoError(t, r.device.AddSection("mwan3", "member", names["mwan3/policies "+e.policy.Origin.String()], nil))
	require.NotEmpty(t, names["mwan3/policies "+e.policy.Origin.String()], "%v", names)
	require.NoError(t, r.device.AddSection("ipsec", "tunnel", "n13a6_pending_firewall", nil))
	p = r.reconcileUntil(t)
	require.Len(t, p.Skips, 2, "%v", p.Skips)
	require.NotEmpty(t, skipOf(p, e.policy))
	require.NotEmpty(t, skipOf(p, e.wanRule))
	require.Contains(t, r.device.Export("firewall"), "config zone")
	require.ElementsMatch(t, []string{"firewall reload", "ipsec reload"}, without(r.reloads(), "mwan3 reload"))
}

func without(list []string, drop string) []string {
	var out []string
	for _, s := range list {
		if s != drop {
			out = append(out, s)
		}
	}
	return out
}

// TestObjectOnWhichTheDeviceAborts has a device abort on one object for good.
func TestObjectOnWhichTheDeviceAborts(t *testing.T) {
	r := newRig(t)
	front := r.inFront(t)
	front.refuse = func(q *http.Request) bool {
		return q.Method == http.MethodPut && strings.Contains(q.URL.Path, "/zones/")
	}
	e := r.fill(t)
	p := r.reconcileUntil(t)
	require.Contains(t, skipOf(p, e.lan), "500")
	require.Contains(t, skipOf(p, e.wan), "500")
	require.Contains(t, skipOf(p, e.rule), "needs firewall/zones")
	r.requireWritten(t, map[openwrt.Kind]int{openwrt.Zones: 0, openwrt.Policies: 1, openwrt.Remotes: 2, openwrt.NATs: 2, openwrt.RouteRules: 1})
	again := r.reconcileUntil(t)
	require.Zero(t, again.Drift())
	front.refuse = nil
	require.Empty(t, r.reconcileUntil(t).Skips)
	r.requireSettled(t)
}

// TestManyObjectsOnWhichTheDeviceAborts costs a few requests for each module, not one for each object.
func TestManyObjectsOnWhichTheDeviceAborts(t *testing.T) {
	r := newRig(t)
	front := r.inFront(t)
	front.refuse = func(q *http.Request) bool {
		return q.Method == http.MethodPut && strings.Contains(q.URL.Path, "/firewall/")
	}
	var rules []*intent.DeviceIntent
	for i := range 100 {
		rules = append(rules, of("FirewallRule", fmt.Sprintf("r-%d", i), &intent.FirewallRule{
			Decides: intent.Drop, Match: intent.Match{Protocol: "tcp", DstPort: uint16(i + 1)},
		}))
	}
	routeRule := newEverything().routeRule
	r.put(append(rules, routeRule)...)
	before := front.refused
	p := r.reconcileUntil(t)
	require.Len(t, p.Skips, 100)
	require.LessOrEqual(t, front.refused-before, 8)
	r.requireWritten(t, map[openwrt.Kind]int{openwrt.RouteRules: 1})
}

// TestNotesThatCannotBeLeft has a device that takes no records: everything is written, loaded and left alone all the same.
func TestNotesThatCannotBeLeft(t *testing.T) {
	r := newRig(t)
	front := r.inFront(t)
	front.refuse = func(q *http.Request) bool {
		return strings.Contains(q.URL.Path, "_pending_") || strings.Contains(q.URL.Path, "_seal_")
	}
	e := r.fill(t)
	require.Empty(t, r.reconcileUntil(t).Skips)
	r.requireWritten(t, map[openwrt.Kind]int{openwrt.Zones: 2, openwrt.Remotes: 2, openwrt.Policies: 1})
	require.Subset(t, r.reloads(), []string{"mwan3 reload", "firewall reload", "ipsec reload"})
	for range 3 {
		require.Empty(t, r.reconcileUntil(t).Ops, "certificates are not written again")
	}
	r.drop(e.rule)
	r.reconcileUntil(t)
	require.Equal(t, []string{"firewall reload"}, r.reloads())
}
