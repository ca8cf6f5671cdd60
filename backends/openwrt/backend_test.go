package openwrt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	device "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// bare is what a device holds, without a switch of the whole device that the type of a tunnel sets for good.
func (r *rig) bare() string {
	return strings.NewReplacer("\toption rtinstall_enabled '0'\n", "", "\toption vip_enabled '1'\n", "").Replace(r.device.Export())
}

func TestEveryKindComesAndGoes(t *testing.T) {
	r := newRig(t)
	before, kernel := r.device.Export(), r.device.Kernel()
	e := r.fill(t)
	p := r.reconcile(t)
	require.Empty(t, p.Skips)
	require.Equal(t, len(e.list()), verbs(p)[backends.Create])
	require.Equal(t, []string{"ipsec reload", "firewall reload", "mwan3 reload"}, r.reloads())
	r.requireSettled(t)
	require.Empty(t, r.plan(t).Ops)

	whole := r.device.Export()
	for _, change := range e.changes() {
		r.put(change)
		p := r.reconcile(t)
		require.Empty(t, p.Skips)
		require.Equal(t, 1, verbs(p)[backends.Update], "%s: %s", change.ID, text(t, p))
		require.Zero(t, verbs(p)[backends.Create]+verbs(p)[backends.Delete], text(t, p))
		r.requireSettled(t)
		require.NotEqual(t, whole, r.device.Export())
	}
	r.put(e.list()...)
	p = r.reconcile(t)
	require.Equal(t, len(e.changes())-1, verbs(p)[backends.Update])
	require.Equal(t, 1, verbs(p)[backends.Create], "the CNFNAT leads elsewhere, so it goes before the firewall changes and comes after that")
	r.requireSettled(t)

	for _, one := range e.list() {
		one.Gone = true
	}
	r.put(e.list()...)
	p = r.reconcile(t)
	require.Empty(t, p.Skips)
	require.Equal(t, len(e.list()), p.Deletes()-1, "all of it, and a note of certificates")
	require.Equal(t, before, r.bare())
	require.Equal(t, kernel, r.device.Kernel())
	r.requireSettled(t)
	r.drop(e.list()...)
	require.Empty(t, r.reconcile(t).Ops)
}

// dump is what the device holds, whatever the order.
func dump(t testing.TB, r *rig) string {
	t.Helper()
	var lines []string
	for _, kind := range openwrt.Kinds() {
		all, err := r.client.List(t.Context(), kind)
		require.NoError(t, err)
		for _, o := range all {
			lines = append(lines, fmt.Sprintf("%s %v", kind, o))
		}
	}
	kernel := strings.Split(r.device.Kernel(), "\n")
	slices.Sort(lines)
	slices.Sort(kernel)
	return strings.Join(slices.Concat(lines, kernel), "\n")
}

func (r *rig) reconcileFully(t testing.TB) *backends.Plan {
	t.Helper()
	r.reached = 0
	return r.reconcile(t)
}

func TestForeignObjectsStay(t *testing.T) {
	r := newRig(t)
	for _, o := range []openwrt.Resource{
		openwrt.Zone{Name: "lan", Network: []string{"net0"}},
		openwrt.Proposal{Name: "mine"},
		openwrt.NAT{Name: "n", Proto: "tcp", DestIP: "1.1.1.1", Target: "DNAT"},
		openwrt.FirewallRule{Name: "n13a6_short", Src: "lan", Target: "DROP"},
		openwrt.Application{Name: "app", IPList: "10.1.1.9"},
		openwrt.Policy{Name: "p", Members: []openwrt.Member{{Interface: "net1", Metric: "1", Weight: "1"}}},
	} {
		_, err := r.client.Put(t.Context(), o.Kind(), openwrt.ObjectOf(o))
		require.NoError(t, err)
	}
	before, kernel := r.device.Export(), r.device.Kernel()
	e := r.fill(t)
	require.Empty(t, r.reconcile(t).Skips)
	r.requireSettled(t)
	other := *r
	other.restart(t, "b")
	require.Empty(t, other.reconcile(t).Ops[0].Before, "the other owner has objects of its own")
	require.Empty(t, text(t, r.readBack(t)), "an owner sees another's objects as its own")
	for _, one := range []*rig{r, &other} {
		one.drop(e.list()...)
		one.reconcileFully(t)
	}
	require.Equal(t, before, r.bare())
	require.Equal(t, kernel, r.device.Kernel())
}

func TestAdoption(t *testing.T) {
	r := newRig(t)
	_, err := r.client.Put(t.Context(), openwrt.Zones, openwrt.ObjectOf(openwrt.Zone{Name: "lan", Network: []string{"net0"}, Input: "DROP"}))
	require.NoError(t, err)
	r.put(of("FirewallZone", "other", &intent.Zone{Networks: []string{"wan1"}}))
	r.reconcile(t)
	zone := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}, Input: intent.Accept})
	zone.Adopts = "lan"
	rule := of("FirewallRule", "r", &intent.FirewallRule{From: intent.DeviceRef{Name: "lan"}, Decides: intent.Drop})
	both := of("FirewallZone", "second", &intent.Zone{})
	both.Adopts = "lan"
	r.put(zone, rule, both)
	p := r.reconcile(t)
	require.True(t, p.Full, "what is adopted was read first")
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "firewall/zones name lan is already used by shop/cnf/FirewallZone/shop/lan")
	require.Contains(t, text(t, p), "~ firewall/zones lan")
	require.Equal(t, "ACCEPT", r.object(t, openwrt.Zones, "lan")["input"])
	r.drop(both)
	r.reconcile(t)
	r.requireSettled(t)
	gone := *zone
	gone.Gone = true
	r.put(&gone)
	p = r.reconcile(t)
	require.Len(t, p.Skips, 1, "a rule refers to it")
	require.Equal(t, backends.Skip{Intent: string(zone.ID), Reason: "DELETE sdewan/firewall/v1/zones/lan: 400: zone lan is used"}, p.Skips[0])
	r.drop(rule)
	p = r.reconcileFully(t)
	require.Empty(t, p.Skips)
	require.NotContains(t, r.device.Export("firewall"), "lan")
}

// TestAdoptionThatEnds leaves what was adopted, and makes what refers to it refer to an object of our own.
func TestAdoptionThatEnds(t *testing.T) {
	r := newRig(t)
	zone := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}})
	zone.Adopts = "lan"
	rule := of("FirewallRule", "r", &intent.FirewallRule{From: ref(zone), Decides: intent.Drop}, zone)
	r.put(zone, rule)
	r.reconcile(t)
	require.Equal(t, "lan", r.object(t, openwrt.FirewallRules, "r")["src"])
	own := *zone
	own.Adopts = ""
	r.put(&own)
	p := r.reconcile(t)
	require.Empty(t, p.Skips)
	require.Zero(t, p.Deletes(), "it was made by hand")
	require.Equal(t, "n13a6y8rhfh", r.object(t, openwrt.FirewallRules, "r")["src"])
	require.Equal(t, "lan", r.object(t, openwrt.Zones, "lan").Name())
	r.requireSettled(t)
}

func TestPlansAreOfWhatChanged(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	asks := func() int { return len(r.device.Requests()) }
	r.device.Reset()
	stranger := of("FirewallZone", "x", &intent.Zone{})
	stranger.Scope = intent.Scope{Namespace: "shop", Purpose: "other"}
	stranger.ID = intent.NewDeviceIntentID(stranger.Scope, stranger.Origin, "")
	for name, change := range map[string]func(){
		"another scope": func() { r.put(stranger) },
		"another CNF":   func() { r.change(func(b *intent.Builder) { b.PutCNF(&intent.CNF{ID: "shop/other"}) }) },
		"another set":   func() { r.set("else", "10.0.0.1") },
		"a policy not for it": func() {
			r.change(func(b *intent.Builder) { b.PutPolicy(&intent.Policy{ID: "p", Subject: "else", Isolates: true}) })
		},
		"an intent put again": func() { r.put(e.lan) },
	} {
		change()
		require.Empty(t, r.reconcile(t).Ops, name)
		require.Zero(t, asks(), name)
	}
	r.set("pods", "172.16.70.8", "172.16.70.9")
	p := r.reconcile(t)
	require.False(t, p.Full)
	require.Equal(t, map[backends.Verb]int{backends.Update: 1}, verbs(p))
	require.Equal(t, 3, asks(), "a write, and what the kernel has of rules and routes")
	require.Equal(t, "172.16.70.8,172.16.70.9", r.object(t, openwrt.Applications, "app")["iplist"])

	moved := cnf()
	moved.Networks = map[string]string{"lan": "net0", "wan1": "net2", "wan2": "net1"}
	r.change(func(b *intent.Builder) { b.PutCNF(moved) })
	p = r.reconcile(t)
	require.False(t, p.Full)
	require.Equal(t, 1, verbs(p)[backends.Update], "a policy has its networks elsewhere, a zone the same as before: %s", text(t, p))

	again := *moved
	again.Run = "2"
	r.device.Restart()
	r.change(func(b *intent.Builder) { b.PutCNF(&again) })
	p = r.reconcile(t)
	require.True(t, p.Full)
	require.Equal(t, len(e.list()), verbs(p)[backends.Create])
	r.requireSettled(t)
}

func TestNothingIsWrittenToWhatMustNotBe(t *testing.T) {
	r := newRig(t)
	r.fill(t)
	r.reconcile(t)
	whole := r.device.Export()
	r.device.Reset()
	for name, change := range map[string]func(g *intent.CNF){
		"it is not ready":     func(g *intent.CNF) { g.Ready = false },
		"it is terminating":   func(g *intent.CNF) { g.Leaving = true },
		"two workloads claim": func(g *intent.CNF) { g.Conflict = "two workloads claim" },
	} {
		g := cnf()
		change(g)
		r.change(func(b *intent.Builder) { b.PutCNF(g) })
		for _, since := range []intent.Revision{0, r.reached} {
			_, err := r.backend.Plan(t.Context(), r.snap, since)
			require.ErrorContains(t, err, name)
		}
	}
	r.change(func(b *intent.Builder) { b.DropCNF(cnfID) })
	_, err := r.backend.Plan(t.Context(), r.snap, 0)
	require.ErrorContains(t, err, "it does not exist")
	r.change(func(b *intent.Builder) {
		b.PutCNF(cnf())
		b.SetUnknown(intent.AreaDevices)
		for e := range r.snap.DeviceIntents() {
			b.DropDeviceIntent(e.ID)
		}
	})
	for _, since := range []intent.Revision{0, r.snap.Revision()} {
		p, err := r.backend.Plan(t.Context(), r.snap, since)
		require.NoError(t, err)
		require.Empty(t, p.Ops)
		require.False(t, p.Resync)
	}
	require.Empty(t, r.device.Requests())
	require.Equal(t, whole, r.device.Export())
	r.change(func(b *intent.Builder) { b.SetUnknown(0) })
	require.NotEmpty(t, r.reconcile(t).Deletes())
}

func TestOptionsThatAreNone(t *testing.T) {
	c := connect(t, newDevice(t, simulator.Options{}))
	for _, opts := range []device.Options{{Owner: "A", CNF: "g"}, {CNF: "g"}, {Owner: "a"}} {
		_, err := device.New(c, opts)
		require.Error(t, err)
	}
}

func TestContextIsObeyed(t *testing.T) {
	r := newRig(t)
	r.fill(t)
	p := r.plan(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.backend.Apply(over, p), context.Canceled)
	_, err := r.backend.Plan(over, r.snap, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, r.writes())
}
