package tungsten_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	api "github.com/netloom/netloom/pkg/tungsten"
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// what describes an op as Target.Refuse does.
func what(t *testing.T, target *tungstentest.Target, s, next *backendtest.State) []string {
	t.Helper()
	var seen []string
	target.Refuse(func(what string) bool {
		seen = append(seen, what)
		return false
	})
	defer target.Refuse(nil)
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	seen = nil
	r.sync(t, next, backendtest.Advance(snap, next))
	return seen
}

// TestRefusedForGood goes from one state to another with one request refused for ever, each in turn: nothing is opened that both states
// deny, what does not depend on it is in force after three attempts, and it is reported.
func TestRefusedForGood(t *testing.T) {
	before, after := edits()
	requests := what(t, tungstentest.NewTarget(t), before, after)
	require.Greater(t, len(requests), 15)
	flows := backendtest.Probes(before, after)
	clean := 0
	for _, refused := range requests {
		t.Run(refused, func(t *testing.T) {
			target := tungstentest.NewTarget(t)
			r, was := newRig(t, target, "a"), before.Snapshot()
			r.sync(t, before, was)
			will := backendtest.Advance(was, after)
			opened := ""
			target.Server.Observe(func([]simulator.Change) {
				for _, f := range flows {
					if opened == "" && !was.Evaluate(f).Allowed && !will.Evaluate(f).Allowed && target.Verdict(t, f).Allowed {
						opened = backendtest.FlowText(f)
					}
				}
			})
			target.Refuse(func(what string) bool { return what == refused })
			p := settle(t, r, will)
			require.Empty(t, opened)
			wrong := 0
			for _, f := range flows {
				if got := target.Verdict(t, f).Allowed; got != will.Evaluate(f).Allowed {
					wrong++
				}
			}
			if strings.HasPrefix(refused, "delete ") {
				require.Zero(t, wrong, "clean-up decides on nothing")
				clean++
			}
			require.NotEmpty(t, p.Skips, "it is reported")
			for _, skip := range p.Skips {
				require.NotEmpty(t, skip.Intent)
			}
			again, err := r.try(t, will)
			require.NoError(t, err)
			require.Zero(t, again.Drift(), "it is no change by others: %v", again.Summary())

			target.Refuse(nil)
			r.reached = 0
			_, err = r.try(t, will)
			require.NoError(t, err)
			r.reached = 0
			again, err = r.try(t, will)
			require.NoError(t, err)
			require.Empty(t, again.Ops)
			require.Empty(t, again.Skips)
			r.judge(t, after, will)
		})
	}
	require.Positive(t, clean)
}

// settle plans as a loop does after an error, three times at most.
func settle(t *testing.T, r *rig, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	for try := 0; ; try++ {
		p, err := r.try(t, want)
		if err == nil {
			return p
		}
		require.Less(t, try, 2, "%v", err)
	}
}

// TestOneRefusedRuleStopsNothingElse has somebody open a rule that the controller then does not let netloom repair. A new policy that
// denies is in force with the second plan.
func TestOneRefusedRuleStopsNothingElse(t *testing.T) {
	before, _ := edits()
	target := tungstentest.NewTarget(t)
	r, was := newRig(t, target, "a"), before.Snapshot()
	r.sync(t, before, was)
	rule := victim(t, target, api.KindFirewallRule)
	require.NoError(t, target.Client.Update(t.Context(), rule.Kind, rule.UUID, api.Fields{"direction": []byte(`"<"`)}))
	target.Refuse(func(what string) bool { return what == "update firewall-rule "+rule.UUID })

	next := *before
	next.Policies = append(slices.Clone(before.Policies), admin("new", intent.Ingress, "q", ruleOf(intent.Deny, "a")))
	will := backendtest.Advance(was, &next)
	r.reached = 0
	_, err := r.try(t, will)
	require.ErrorContains(t, err, rule.Name())
	p, err := r.try(t, will)
	require.NoError(t, err)
	require.Len(t, p.Skips, 1)
	require.Contains(t, p.Skips[0].Reason, "the controller refuses it")
	denied := 0
	for _, f := range backendtest.Probes(&next) {
		if was.Evaluate(f).Allowed && !will.Evaluate(f).Allowed {
			denied++
			require.False(t, target.Verdict(t, f).Allowed, backendtest.FlowText(f))
		}
	}
	require.Positive(t, denied)
}

func ruleOf(a intent.Action, peer intent.SetID) intent.Rule {
	return intent.Rule{Path: "spec", Action: a, Peer: intent.Peer{Kind: intent.PeerSet, Set: peer}, Ports: intent.Ports{Any: true}}
}

// TestCleanUpDelaysNothing has somebody else use a tag that netloom needs no more: that is no error, and what changes next is in force at
// once. The tag goes when it can.
func TestCleanUpDelaysNothing(t *testing.T) {
	before, after := edits()
	target := tungstentest.NewTarget(t)
	r, was := newRig(t, target, "a"), before.Snapshot()
	r.sync(t, before, was)
	tags, err := target.Client.List(t.Context(), api.KindTag, api.Query{Detail: true})
	require.NoError(t, err)
	group := &api.Object{Kind: api.KindAddressGroup, FQName: []string{"default-policy-management", "by-hand"}, ParentType: api.KindPolicyManagement}
	for _, tag := range tags {
		if strings.HasPrefix(tag.Name(), "label=netloom.a.") {
			group.TagRefs = append(group.TagRefs, api.RefTo(tag.FQName...))
		}
	}
	group.UUID, err = target.Client.Create(t.Context(), group)
	require.NoError(t, err)

	will := backendtest.Advance(was, after)
	_, err = r.try(t, will)
	require.NoError(t, err)
	r.judge(t, after, will)
	next := *after
	for _, deny := range []intent.SetID{"a", "b"} {
		next.Policies = append(slices.Clone(next.Policies), admin("new-"+string(deny), intent.Ingress, "q", ruleOf(intent.Deny, deny)))
		will = backendtest.Advance(will, &next)
		_, err = r.try(t, will)
		require.NoError(t, err)
		r.judge(t, &next, will)
	}
	r.reached = 0
	p, err := r.try(t, will)
	require.NoError(t, err)
	require.Zero(t, p.Drift(), "what stays is no change by others")
	require.NotEmpty(t, p.Skips)
	for _, skip := range p.Skips {
		require.True(t, skip.InEffect)
		require.Contains(t, skip.Reason, "somebody else's object refers to it")
	}
	require.NoError(t, target.Client.Delete(t.Context(), group.Kind, group.UUID))
	r.reached = 0
	p, err = r.try(t, will)
	require.NoError(t, err)
	require.Empty(t, p.Skips)
	r.reached = 0
	p, err = r.try(t, will)
	require.NoError(t, err)
	require.Empty(t, p.Ops)
}

// TestDeletedBySomebodyElse has all rules of a policy deleted before netloom deletes them: one request finds out.
func TestDeletedBySomebodyElse(t *testing.T) {
	s := shops(4, 8)
	target, snap := tungstentest.NewTarget(t), s.Snapshot()
	r := newRig(t, target, "a")
	r.sync(t, s, snap)
	for _, kind := range []api.Kind{api.KindFirewallRule, api.KindTag} {
		all, err := target.Client.List(t.Context(), kind, api.Query{})
		require.NoError(t, err)
		for _, o := range all {
			target.Server.Vanish(o.UUID)
		}
	}
	target.Calls()
	none := &backendtest.State{}
	snap = backendtest.Advance(snap, none)
	_, err := r.try(t, snap)
	require.NoError(t, err)
	calls := target.Calls()
	require.Equal(t, 1, calls["delete firewall-rule"]+calls["delete tag"], "%v", calls)
	r.sync(t, none, snap)
	r.reached = 0
	require.Empty(t, r.sync(t, none, snap).Ops)
}
