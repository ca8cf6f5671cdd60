package openwrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	device "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

var _ backends.Keeper = (*device.Backend)(nil)

// TestAllThatIsLostIsKept restarts against a source that has nothing, then gets back one object.
func TestAllThatIsLostIsKept(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	whole := dump(t, r)
	r.restart(t, "a")
	r.drop(e.list()...)
	p := r.readBack(t)
	require.Len(t, p.Lost, len(e.list()))
	require.Empty(t, p.Kept)
	require.Equal(t, 2, p.Objects[openwrt.Zones.String()])
	require.Contains(t, p.Lost, object.Ref{Kind: "route/routes", Name: r.object(t, openwrt.Routes, "_r").Name()})

	r.backend.Keep(p.Lost)
	kept := r.readBack(t)
	require.Empty(t, text(t, kept))
	require.Empty(t, kept.Lost)
	require.Equal(t, p.Lost, kept.Kept)
	require.Equal(t, p.Objects, kept.Objects)

	r.put(e.proposal)
	more := of("CNFRoute", "more", &intent.Route{Dst: prefix("192.0.2.0/24"), Via: addr("172.16.70.1"), Dev: intent.Link{Name: "net0"}})
	r.put(more)
	plan := r.reconcileFully(t)
	require.Equal(t, []int{1, 0, 0}, []int{verbs(plan)[backends.Create], verbs(plan)[backends.Update], verbs(plan)[backends.Delete]},
		"everything else is written: %s", text(t, plan))
	require.Len(t, plan.Kept, len(e.list())-1, "what is back is not kept")
	r.drop(more)
	require.NotEmpty(t, r.reconcileFully(t).Lost, "what is lost later is not kept by itself")
	require.Equal(t, whole, dump(t, r))

	r.backend.Keep(nil)
	r.reconcileFully(t)
	require.Contains(t, dump(t, r), "strong")
	require.NotContains(t, dump(t, r), "hub")
	r.requireSettled(t)
}

// TestWhatIsThereIsNotLost has objects go that are known to go, or that are at fault.
func TestWhatIsThereIsNotLost(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	r.put(e.lan, e.wan, e.forwarding, e.route, e.routeRule, e.masquerade)
	r.reconcile(t)
	r.restart(t, "a")
	gone, bad := *e.route, *e.routeRule
	gone.Gone, bad.Needs = true, []intent.DeviceIntentID{"no such"}
	r.put(&gone, &bad)
	r.drop(e.masquerade)
	p := r.readBack(t)
	require.Equal(t, 3, verbs(p)[backends.Delete], text(t, p))
	require.Len(t, p.Lost, 1, "the last one alone")
	require.Equal(t, openwrt.NATs.String(), p.Lost[0].Kind)
}

// TestWhatKeptObjectsReferToStays deletes the zones of a kept forwarding.
func TestWhatKeptObjectsReferToStays(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	other := of("FirewallZone", "other", &intent.Zone{Input: intent.Accept})
	r.put(e.lan, e.wan, other, e.forwarding)
	r.reconcile(t)
	r.restart(t, "a")
	lan, unused := *e.lan, *other
	lan.Gone, unused.Gone = true, true
	r.put(&lan, &unused)
	r.drop(e.forwarding, e.wan)
	p := r.readBack(t)
	require.Len(t, p.Lost, 2)
	r.backend.Keep(p.Lost)
	p = r.reconcileFully(t)
	require.Equal(t, 1, verbs(p)[backends.Delete], "the zone that nothing refers to: %s", text(t, p))
	require.Len(t, p.Kept, 2)
	require.Equal(t, map[backends.Verb]int{}, verbs(r.readBack(t)))
}

// TestAPlaceGoesToWhatIsWanted adds a route with the destination of a kept one.
func TestAPlaceGoesToWhatIsWanted(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	r.put(e.route)
	r.reconcile(t)
	r.restart(t, "a")
	r.drop(e.route)
	r.backend.Keep(r.readBack(t).Lost)
	require.Len(t, r.readBack(t).Kept, 1)
	spec := *e.route.Spec.(*intent.Route)
	spec.Via = addr("172.16.70.2")
	r.put(of("CNFRoute", "instead", &spec))
	p := r.reconcileFully(t)
	require.Empty(t, p.Kept)
	require.Empty(t, p.Lost, "it was replaced")
	r.requireSettled(t)
}

// TestRulesOfEditedPoliciesAreNotLost edits a policy while no process runs, so that its rules have other names.
func TestRulesOfEditedPoliciesAreNotLost(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	r.put(e.lan, e.wan)
	r.set("db", "172.16.70.9")
	r.set(intent.IsolatedSet(intent.Ingress), "172.16.70.9")
	r.set("web", "172.16.70.10")
	allow := func(port uint16) *intent.Policy {
		return &intent.Policy{
			ID: "db", Origin: intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"}, CNFs: scope(), Subject: "db", Isolates: true,
			Rules: []intent.Rule{{
				Path: "spec.ingress[0]", Action: intent.Allow,
				Peer:  intent.Peer{Kind: intent.PeerSet, Set: "web"},
				Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: port, Last: port}}},
			}},
		}
	}
	r.change(func(b *intent.Builder) { b.PutPolicy(allow(80)) })
	r.reconcile(t)
	r.restart(t, "a")
	r.change(func(b *intent.Builder) { b.PutPolicy(allow(81)) })
	p := r.readBack(t)
	require.Positive(t, verbs(p)[backends.Delete], text(t, p))
	require.Empty(t, p.Lost, text(t, p))
}

// TestRulesThatAcceptAskForPoliciesWhileTheirsAreKept loses a policy, but not the rule that accepts what it denies.
func TestRulesThatAcceptAskForPoliciesWhileTheirsAreKept(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	accept := *e.rule
	spec := *e.rule.Spec.(*intent.FirewallRule)
	spec.Decides = intent.Accept
	accept.Spec = &spec
	r.put(e.lan, e.wan, &accept)
	r.set("db", "172.16.70.9")
	policy := &intent.Policy{
		ID: "db", Origin: intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"}, CNFs: scope(), Subject: "db", Isolates: true,
	}
	r.set(intent.IsolatedSet(intent.Ingress), "172.16.70.9")
	r.change(func(b *intent.Builder) { b.PutPolicy(policy) })
	r.reconcile(t)
	require.Contains(t, r.device.Export("firewall"), "--mark")
	whole := dump(t, r)

	r.restart(t, "a")
	r.change(func(b *intent.Builder) { b.DropPolicy(policy.ID) })
	p := r.readBack(t)
	require.NotEmpty(t, p.Lost)
	require.Positive(t, verbs(p)[backends.Update], "without policies nothing asks for them")
	r.backend.Keep(p.Lost)
	require.Empty(t, text(t, r.reconcileFully(t)))
	require.Equal(t, whole, dump(t, r))

	r.backend.Keep(nil)
	r.reconcileFully(t)
	require.NotContains(t, r.device.Export("firewall"), "--mark")
	r.requireSettled(t)
}
