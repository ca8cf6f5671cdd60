package tungsten_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	api "github.com/netloom/netloom/pkg/tungsten"
)

// rivalOf gives interfaces of endpoints a tag of somebody else of the type of the tag for egress, and returns how to take it back.
func rivalOf(t *testing.T, target *tungstentest.Target, keys ...object.Key) (undo func()) {
	t.Helper()
	tag := &api.Object{Kind: api.KindTag, FQName: []string{"neutron_fwaas=theirs"}, TagTypeName: "neutron_fwaas", TagValue: "theirs"}
	id, err := target.Client.Create(t.Context(), tag)
	require.NoError(t, err)
	var links []api.Link
	for _, k := range keys {
		links = append(links, api.Link{From: api.KindInterface, UUID: tungstentest.PortUUID(k), To: api.KindTag, Target: id})
		require.NoError(t, target.Client.AddRef(t.Context(), links[len(links)-1]))
	}
	return func() {
		for _, l := range links {
			require.NoError(t, target.Client.RemoveRef(t.Context(), l))
		}
	}
}

// TestRivalTag has somebody give an interface a tag of the type of netloom's for egress, of which a vrouter keeps one: what egress policies
// deny may be open, so the endpoint does not count as protected, and it is reported with the interface and the tag, until the tag is gone.
// Nothing is written for it, and no other endpoint is concerned.
func TestRivalTag(t *testing.T) {
	all := []int{0, 1, 2, 3}
	s := cluster{map[intent.SetID][]int{"all": all, "shut": {0}, "open": {1}}, []intent.Policy{
		policy("out", intent.Egress, "shut"), policy("in", intent.Ingress, "open", rule(intent.Allow, "all", tcp(1, 65535))),
	}}.state()
	target := tungstentest.NewTarget(t)
	r, snap := newRig(t, target, "a"), s.Snapshot()
	r.sync(t, s, snap)
	r.judge(t, s, snap)
	opened := func() int {
		n := 0
		for _, f := range backendtest.Probes(s) {
			if target.Verdict(t, f).Allowed && !snap.Evaluate(f).Allowed {
				n++
			}
		}
		return n
	}
	for _, road := range []string{"seen", "read back", "after a restart"} {
		undo := rivalOf(t, target, podKey(0), podKey(1), podKey(2))
		switch road {
		case "seen":
			<-r.backend.Wake()
		case "read back":
			r.reached = 0
		default:
			r = newRig(t, target, "a")
		}
		p, err := r.try(t, snap)
		require.NoError(t, err)
		require.Empty(t, p.Ops, road)
		require.Positive(t, opened(), "the model shows what may be open")
		c, _ := r.backend.Coverage()
		require.Equal(t, []int{2, 1}, []int{c.Selected, c.Missing.Len()}, road)
		gap, _ := c.Missing.Get(podKey(0))
		require.Contains(t, gap.Lacks, "interface p-0__"+tungstentest.PortUUID(podKey(0)))
		require.Contains(t, gap.Lacks, "tag neutron_fwaas=theirs,")
		require.False(t, r.backend.ChangedByOthers(), "nothing is to be repaired")

		undo()
		_, err = r.try(t, snap)
		require.NoError(t, err)
		c, _ = r.backend.Coverage()
		require.True(t, c.Complete(), road)
		r.judge(t, s, snap)
		tags, err := target.Client.List(t.Context(), api.KindTag, api.Query{Names: []string{"neutron_fwaas=theirs"}})
		require.NoError(t, err)
		require.NoError(t, target.Client.Delete(t.Context(), api.KindTag, tags[0].UUID))
	}
}

// setOfOthers makes an application policy set that denies everything, tied to a tag that the interfaces of endpoints have.
func setOfOthers(t *testing.T, target *tungstentest.Target, tag string, keys ...object.Key) {
	t.Helper()
	kind, value, _ := strings.Cut(tag, "=")
	create := func(o *api.Object) string {
		id, err := target.Client.Create(t.Context(), o)
		require.NoError(t, err)
		return id
	}
	id := create(&api.Object{Kind: api.KindTag, FQName: []string{tag}, TagTypeName: kind, TagValue: value})
	const parent = "default-policy-management"
	create(&api.Object{
		Kind: api.KindFirewallRule, FQName: []string{parent, "theirs"}, ParentType: api.KindPolicyManagement, Direction: "<>",
		Endpoint1: &api.Endpoint{Any: true}, Endpoint2: &api.Endpoint{Any: true}, ActionList: &api.Actions{SimpleAction: "deny"},
		Service: &api.Service{Protocol: "any", SrcPorts: &api.Ports{End: 65535}, DstPorts: &api.Ports{End: 65535}},
	})
	create(&api.Object{
		Kind: api.KindFirewallPolicy, FQName: []string{parent, "theirs"}, ParentType: api.KindPolicyManagement,
		FirewallRuleRefs: []api.Ref{api.RefTo(parent, "theirs").InSequence("0")},
	})
	create(&api.Object{
		Kind: api.KindApplicationPolicySet, FQName: []string{parent, "theirs"}, ParentType: api.KindPolicyManagement,
		FirewallPolicyRefs: []api.Ref{api.RefTo(parent, "theirs").InSequence("0")}, TagRefs: []api.Ref{api.RefTo(tag)},
	})
	for _, k := range keys {
		require.NoError(t, target.Client.AddRef(t.Context(), api.Link{From: api.KindInterface, UUID: tungstentest.PortUUID(k), To: api.KindTag, Target: id}))
	}
}

// TestSetsOfOthers has kube-manager deny everything to all pods, by a policy set that is tied to the application: it decides on none that
// netloom governs, for whichever direction, and on all others.
func TestSetsOfOthers(t *testing.T) {
	for _, d := range intent.Directions() {
		t.Run(d.String(), func(t *testing.T) {
			all := map[intent.SetID][]int{"all": {0, 1, 2, 3}, "some": {0, 1}}
			s := cluster{all, []intent.Policy{policy("p", d, "some", rule(intent.Allow, "some", tcp(80, 80)))}}.state()
			target := tungstentest.NewTarget(t)
			target.Prepare(t, s.Endpoints, nil)
			setOfOthers(t, target, "application=k8s", podKey(0), podKey(1), podKey(2), podKey(3))
			r, snap := newRig(t, target, "a"), s.Snapshot()
			r.sync(t, s, snap)
			governed := func(p intent.Party) bool { return p.Key == podKey(0) || p.Key == podKey(1) }
			both := 0
			for _, f := range backendtest.Probes(s) {
				switch {
				case governed(f.Src) && governed(f.Dst):
					both++
					require.Equal(t, snap.Evaluate(f).Allowed, target.Verdict(t, f).Allowed, backendtest.FlowText(f))
				case f.Src.Key == podKey(2) && f.Dst.Key == podKey(3):
					require.False(t, target.Verdict(t, f).Allowed, backendtest.FlowText(f))
				}
			}
			require.Positive(t, both)
			none := &backendtest.State{Endpoints: s.Endpoints}
			r.sync(t, none, backendtest.Advance(snap, none))
			for _, f := range backendtest.Probes(s) {
				if governed(f.Src) && governed(f.Dst) && f.Src.Addr != f.Dst.Addr {
					require.False(t, target.Verdict(t, f).Allowed, "kube-manager decides again")
				}
			}
		})
	}
}

// TestKeptRuleStaysInForce takes away the only policy that governs an endpoint, an admin policy, without intent: what it denies stays denied.
func TestKeptRuleStaysInForce(t *testing.T) {
	for _, d := range intent.Directions() {
		s := cluster{map[intent.SetID][]int{"a": {0}, "b": {1}}, []intent.Policy{admin("c", d, "a", rule(intent.Deny, "b", tcp(80, 80)))}}.state()
		target := tungstentest.NewTarget(t)
		r, snap := newRig(t, target, "a"), s.Snapshot()
		r.sync(t, s, snap)
		r.judge(t, s, snap)
		less := *s
		less.Policies = nil
		lost := backendtest.Advance(snap, &less)
		r = newRig(t, target, "a")
		p, err := r.backend.Plan(t.Context(), lost, 0)
		require.NoError(t, err)
		r.backend.Keep(p.Lost)
		r.sync(t, &less, lost)
		r.judge(t, s, snap)
	}
}
