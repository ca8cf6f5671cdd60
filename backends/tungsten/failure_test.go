package tungsten_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	api "github.com/netloom/netloom/pkg/tungsten"
)

var everyCall = flag.Bool("tungsten.everycall", false, "fail every call in turn, as make roads does, not only some")

// TestFaultAtEveryCall goes from one state to the next with one request failing, in every way, and judges every state that the
// controller is in: nothing is opened that both states deny, and in the end everything is as it should be.
func TestFaultAtEveryCall(t *testing.T) {
	before, after := edits()
	scratch := tungstentest.NewTarget(t)
	newRig(t, scratch, "a").sync(t, after, after.Snapshot())
	want := scratch.DumpOwner(t, "a")
	for name, fault := range map[string]simulator.Fault{
		"500": simulator.Fail, "500 after the write": simulator.FailAfter, "the connection ends": simulator.Cut,
		"the connection ends after the write": simulator.CutAfter, "409": simulator.Conflict, "404": simulator.NotFound,
		"503": simulator.Unavailable, "the token has expired": simulator.ExpiredToken, "the server restarts": simulator.Restart,
	} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for n := 1; faultAt(t, fault, n, before, after, want); failed++ {
				if !*everyCall {
					n *= 2
				}
				n++
			}
			require.Greater(t, failed, 4)
		})
	}
}

// edits are two states between which a policy is edited, another comes, a third goes, and a pod changes a label.
func edits() (before, after *backendtest.State) {
	web := tcp(80, 80)
	sets := func(a, b []int) map[intent.SetID][]int {
		return map[intent.SetID][]int{"all": {0, 1, 2, 3}, "a": a, "b": b, "q": {1}}
	}
	before = cluster{sets([]int{0, 2}, []int{3}), []intent.Policy{
		policy("closed", intent.Ingress, "all"), policy("p", intent.Ingress, "q", rule(intent.Allow, "a", web)),
		policy("gone", intent.Egress, "a", rule(intent.Allow, "q", web)), admin("c", intent.Ingress, "q", rule(intent.Deny, "b", web)),
	}}.state()
	after = cluster{sets([]int{2}, []int{0, 3}), []intent.Policy{
		policy("closed", intent.Ingress, "all"), policy("p", intent.Ingress, "q", rule(intent.Allow, "b", tcp(80, 90))),
		policy("come", intent.Egress, "b", rule(intent.Allow, "q", web)), admin("c", intent.Ingress, "q", rule(intent.Deny, "a", web)),
	}}.state()
	return before, after
}

// faultAt goes from one state to the next with the n-th request failing, and reports whether there was one.
func faultAt(t *testing.T, fault simulator.Fault, n int, before, after *backendtest.State, want string) bool {
	t.Helper()
	target := tungstentest.NewTarget(t)
	r, was := newRig(t, target, "a"), before.Snapshot()
	r.sync(t, before, was)
	will := backendtest.Advance(was, after)
	flows := backendtest.Probes(before, after)
	opened := ""
	target.Server.Observe(func([]simulator.Change) {
		for _, f := range flows {
			if opened == "" && !was.Evaluate(f).Allowed && !will.Evaluate(f).Allowed && target.Verdict(t, f).Allowed {
				opened = backendtest.FlowText(f)
			}
		}
	})
	happened := false
	target.Server.Inject(func(c simulator.Call) simulator.Fault {
		if c.N != n {
			return simulator.NoFault
		}
		happened = true
		return fault
	})
	for try := 0; ; try++ {
		require.Less(t, try, 5, "call %d: does not converge", n)
		if _, err := r.try(t, will); err == nil {
			break
		}
		if try%2 == 1 { // the process dies, too
			r = newRig(t, target, "a")
		}
	}
	target.Server.Inject(nil)
	require.Empty(t, opened, "call %d", n)
	_, err := r.try(t, will)
	require.NoError(t, err)
	require.Equal(t, want, target.DumpOwner(t, "a"), "call %d", n)
	require.Empty(t, target.Dangling(t))
	r.judge(t, after, will)
	return happened
}

// TestTwoClustersOnOneServer has two clusters with the same namespaces, labels and policy names; one dies and comes back.
func TestTwoClustersOnOneServer(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	snap := s.Snapshot()
	a, b := newRig(t, target, "east"), newRig(t, target, "west")
	a.sync(t, s, snap)
	b.sync(t, s, snap)
	east, west := target.DumpOwner(t, "east"), target.DumpOwner(t, "west")
	require.Len(t, west, len(east), "they have the same, by other names")
	a.judge(t, s, snap)

	// West dies with its last list half read, and comes back: nothing of it was swept, and nothing of east.
	b = newRig(t, target, "west")
	target.Server.Inject(simulator.At(4, simulator.Fail))
	_, err := b.try(t, intent.NewSnapshot())
	require.Error(t, err)
	target.Server.Inject(nil)
	require.Equal(t, west, target.DumpOwner(t, "west"), "a faulty list is no reason to sweep")
	none := &backendtest.State{}
	a.sync(t, none, backendtest.Advance(snap, none))
	require.Equal(t, west, target.DumpOwner(t, "west"))
	p := newRig(t, target, "west").sync(t, s, s.Snapshot())
	require.True(t, p.Empty())
	a.reached = 0
	a.sync(t, s, snap)
	require.Equal(t, east, target.DumpOwner(t, "east"))
}

// TestDrafts finds a controller that only stores drafts: nothing counts as in sync.
func TestDrafts(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	configs := target.Server.Objects("global-system-config")
	require.Len(t, configs, 1)
	all, err := target.Client.List(t.Context(), api.KindGlobalSystemConfig, api.Query{})
	require.NoError(t, err)
	require.NoError(t, target.Client.Update(t.Context(), api.KindGlobalSystemConfig, all[0].UUID,
		api.Fields{"enable_security_policy_draft": []byte("true")}))
	r := newRig(t, target, "a")
	_, err = r.try(t, s.Snapshot())
	require.ErrorIs(t, err, tungsten.ErrDraft)
	require.Empty(t, target.DumpOwner(t, "a"))
}

// TestDraftsWhileRunning has somebody switch the draft mode on between two plans, and before a repair: nothing is written, neither tags of
// interfaces nor drafts, until it is off.
func TestDraftsWhileRunning(t *testing.T) {
	target := tungstentest.NewTarget(t)
	before, after := edits()
	r, was := newRig(t, target, "a"), before.Snapshot()
	r.sync(t, before, was)
	all, err := target.Client.List(t.Context(), api.KindGlobalSystemConfig, api.Query{})
	require.NoError(t, err)
	drafts := func(on string) {
		require.NoError(t, target.Client.Update(t.Context(), api.KindGlobalSystemConfig, all[0].UUID,
			api.Fields{"enable_security_policy_draft": []byte(on)}))
	}
	everything := func() (out []string) {
		for _, kind := range []string{"virtual-machine-interface", "tag", "firewall-rule", "firewall-policy", "application-policy-set", "address-group"} {
			for _, raw := range target.Server.Objects(kind) {
				out = append(out, string(raw))
			}
		}
		return out
	}
	drafts("true")
	whole := everything()
	will := backendtest.Advance(was, after)
	for range 3 { // the first one plans from changes, the others from what is read back
		_, err = r.try(t, will)
		require.ErrorIs(t, err, tungsten.ErrDraft)
		require.Equal(t, whole, everything())
	}
	drafts("false")
	r.sync(t, after, will)
	r.judge(t, after, will)

	harm, _ := target.Damage(t, "a", 0)
	require.NotEmpty(t, harm.Names)
	drafts("true")
	whole = everything()
	require.NoError(t, r.backend.Confirm(t.Context()))
	require.True(t, r.backend.ChangedByOthers())
	p, err := r.backend.Repair(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, p.Ops)
	require.ErrorIs(t, r.backend.Apply(t.Context(), p), tungsten.ErrDraft)
	require.Equal(t, whole, everything())
}

// TestWrongServer plans against something that is no controller, or that cannot be reached.
func TestWrongServer(t *testing.T) {
	s, _ := edits()
	client, err := api.New(api.Options{URLs: []string{"http://127.0.0.1:1"}})
	require.NoError(t, err)
	b, err := tungsten.New(client, tungsten.Options{Owner: "a"})
	require.NoError(t, err)
	_, err = b.Plan(t.Context(), s.Snapshot(), 0)
	require.ErrorIs(t, err, backends.ErrUnreachable)
	for _, owner := range []string{"", "a.b", "A", "-a", fmt.Sprintf("%033d", 0)} {
		_, err := tungsten.New(client, tungsten.Options{Owner: owner})
		require.Error(t, err, owner)
	}
}

// TestVanishedTag mends references that dangle, as after a delete that met a new reference.
func TestVanishedTag(t *testing.T) {
	target := tungstentest.NewTarget(t)
	s, _ := edits()
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	whole := target.DumpOwner(t, "a")
	tags, err := target.Client.List(t.Context(), api.KindTag, api.Query{})
	require.NoError(t, err)
	for _, tag := range tags {
		require.True(t, target.Server.Vanish(tag.UUID))
	}
	require.NotEmpty(t, target.Dangling(t))
	r.reached = 0
	r.sync(t, s, snap)
	require.Empty(t, target.Dangling(t))
	require.Equal(t, whole, target.DumpOwner(t, "a"))
	r.judge(t, s, snap)

	// What vanishes while it is not wanted any more is not created again: the references are removed.
	for _, kind := range []api.Kind{api.KindTag, api.KindFirewallRule} {
		all, err := target.Client.List(t.Context(), kind, api.Query{})
		require.NoError(t, err)
		for _, o := range all {
			require.True(t, target.Server.Vanish(o.UUID))
		}
	}
	none := &backendtest.State{}
	r.reached = 0
	r.sync(t, none, backendtest.Advance(snap, none))
	require.Empty(t, target.Dangling(t))
}

// TestALostStreamAsksTheController has a controller that no longer answers when its change stream ends: a plan without changes fails,
// and so do all others until it answers.
func TestALostStreamAsksTheController(t *testing.T) {
	before, _ := edits()
	target := tungstentest.NewTarget(t)
	r, want := newRig(t, target, "a"), before.Snapshot()
	r.sync(t, before, want)
	p, err := r.backend.Plan(t.Context(), want, want.Revision())
	require.NoError(t, err)
	require.True(t, p.Empty())

	target.Server.Inject(func(simulator.Call) simulator.Fault { return simulator.Cut })
	r.backend.Observe(api.Event{Type: api.EventLost})
	<-r.backend.Wake()
	for range 2 {
		_, err = r.backend.Plan(t.Context(), want, want.Revision())
		require.ErrorIs(t, err, backends.ErrUnreachable)
		r.backend.Observe(api.Event{Type: api.EventLost})
		require.Empty(t, r.backend.Wake(), "it is known")
	}
	target.Server.Inject(nil)
	p, err = r.backend.Plan(t.Context(), want, want.Revision())
	require.NoError(t, err)
	require.True(t, p.Empty())
}
