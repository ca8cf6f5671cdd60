package ovn_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestPortsThatComeAndGo(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	snap := shop("a", "b").Snapshot()
	r.reconcile(t, snap)
	requireGroup(t, r, []string{"shop_a"})
	require.Equal(t, []string{"shop/b: logical port shop_b"}, r.missing(t))

	t.Run("a port that appears later joins by one mutation for each group", func(t *testing.T) {
		r.addPort(t, "shop_b", nil)
		p := r.reconcile(t, snap)
		require.False(t, p.Full)
		require.Len(t, p.Ops, 2, "its subject and the isolated: %s", text(t, p, ""))
		for i := range p.Ops {
			require.Equal(t, backends.Mutate, p.Ops[i].Verb)
		}
		requireGroup(t, r, []string{"shop_a", "shop_b"})
		require.Empty(t, r.missing(t))
		r.requireSettled(t, snap)
	})
	t.Run("a port that goes leaves its groups by itself and may come back", func(t *testing.T) {
		r.deletePort(t, "shop_b")
		requireGroup(t, r, []string{"shop_a"})
		require.True(t, r.reconcile(t, snap).Empty())
		require.Equal(t, []string{"shop/b: logical port shop_b"}, r.missing(t))
		r.addPort(t, "shop_b", nil)
		r.reconcile(t, snap)
		requireGroup(t, r, []string{"shop_a", "shop_b"})
	})
	t.Run("a port that is recreated between two plans is looked up again", func(t *testing.T) {
		r.deletePort(t, "shop_a")
		r.addPort(t, "shop_a", nil)
		requireGroup(t, r, []string{"shop_b"})
		r.reconcile(t, snap)
		requireGroup(t, r, []string{"shop_a", "shop_b"})
		r.requireSettled(t, snap)
	})
	t.Run("a port of no known pod changes nothing", func(t *testing.T) {
		r.addPort(t, "shop_z", nil)
		require.True(t, r.reconcile(t, snap).Empty())
	})
}

func requireGroup(t *testing.T, r *rig, want []string) {
	t.Helper()
	for _, set := range []intent.SetID{"db", intent.IsolatedIngress} {
		got, ok := r.groupPorts(t, set)
		require.True(t, ok, "no group for %s", set)
		require.Equal(t, want, got, "group of %s", set)
	}
}

// TestPortAppearsWhileItsPodLeaves adds the port of a pod in the same plan in which the pod leaves its sets.
func TestPortAppearsWhileItsPodLeaves(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	was := shop("a", "b").Snapshot()
	r.reconcile(t, was)
	r.addPort(t, "shop_b", nil)
	now := backendtest.Advance(was, shop("a"))
	r.reconcile(t, now)
	requireGroup(t, r, []string{"shop_a"})
	r.requireSettled(t, now)
	require.True(t, r.reconcile(t, now).Empty())
}

// TestPortIsRecreatedWhileItsPodLeaves is the same for a port that was in the groups before.
func TestPortIsRecreatedWhileItsPodLeaves(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	r.addPort(t, "shop_b", nil)
	was := shop("a", "b").Snapshot()
	r.reconcile(t, was)
	r.deletePort(t, "shop_b")
	r.addPort(t, "shop_b", nil)
	now := backendtest.Advance(was, shop("a"))
	r.reconcile(t, now)
	requireGroup(t, r, []string{"shop_a"})
	r.requireSettled(t, now)
}

// TestSetIsRecreatedBetweenTwoPlans drops all that refers to a set and brings it back with other members, all of it
// between two plans: the changes do not show what became of the members meanwhile.
func TestSetIsRecreatedBetweenTwoPlans(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	for _, name := range []string{"a", "b", "c", "w"} {
		r.addPort(t, "shop_"+name, nil)
	}
	first := shop("a", "b").Snapshot()
	r.reconcile(t, first)
	requireGroup(t, r, []string{"shop_a", "shop_b"})

	nothing := shop()
	nothing.Sets, nothing.Policies = nil, nil
	gone := backendtest.Advance(first, nothing)
	state := shop("b", "c")
	state.Sets[1].Keys = []object.Key{{Namespace: "shop", Name: "a"}} // another pod is web, too
	again := backendtest.Advance(gone, state)
	r.reconcile(t, again)
	requireGroup(t, r, []string{"shop_b", "shop_c"})
	require.Equal(t, []string{"10.0.0.1"}, r.addresses(t, "web"))
	r.requireSettled(t, again)
}

// TestThereAndBackBetweenTwoPlans removes a pod from a set and adds it again before the next plan.
func TestThereAndBackBetweenTwoPlans(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	r.addPort(t, "shop_a", nil)
	first := shop("a", "b").Snapshot()
	r.reconcile(t, first)
	back := backendtest.Advance(backendtest.Advance(first, shop("b")), shop("a", "b"))
	require.Empty(t, text(t, r.reconcile(t, back), "nothing to do\n"))
	requireGroup(t, r, []string{"shop_a"})

	t.Run("a pod outside every set is not waited for", func(t *testing.T) {
		require.Equal(t, []string{"shop/b: logical port shop_b"}, r.missing(t))
		nothing := shop()
		nothing.Sets, nothing.Policies = nil, nil
		gone := backendtest.Advance(back, nothing)
		require.False(t, r.reconcile(t, gone).Full)
		require.Empty(t, r.missing(t))
		r.requireSettled(t, gone)
	})
}

func TestPortsOfTwoTemplates(t *testing.T) {
	r := newRig(t, "ovn-kubernetes,{pod}.{namespace}.net1")
	r.addPort(t, "shop_a", nil)
	r.addPort(t, "a.shop.net1", nil)
	snap := shop("a", "b").Snapshot()
	r.reconcile(t, snap)
	requireGroup(t, r, []string{"a.shop.net1", "shop_a"})
	require.Equal(t, []string{"shop/b: logical port shop_b or b.shop.net1"}, r.missing(t))
	r.addPort(t, "b.shop.net1", nil)
	r.reconcile(t, snap)
	requireGroup(t, r, []string{"a.shop.net1", "b.shop.net1", "shop_a"})
	left := backendtest.Advance(snap, shop("b"))
	r.reconcile(t, left)
	requireGroup(t, r, []string{"b.shop.net1"})
	r.requireSettled(t, left)
}

func TestPortsByExternalIDs(t *testing.T) {
	r := newRig(t, "external-ids:pod")
	r.addPort(t, "p-1", map[string]string{"pod": "shop/a"})
	r.addPort(t, "p-2", map[string]string{"pod": "shop/a"})
	r.addPort(t, "p-3", map[string]string{"pod": "other/a"})
	snap := shop("a", "b").Snapshot()
	r.reconcile(t, snap)
	requireGroup(t, r, []string{"p-1", "p-2"})
	require.Equal(t, []string{"shop/b: logical port with external_ids:pod=shop/b"}, r.missing(t))
	r.addPort(t, "p-4", map[string]string{"pod": "shop/b"})
	r.reconcile(t, snap)
	requireGroup(t, r, []string{"p-1", "p-2", "p-4"})
	r.deletePort(t, "p-1")
	left := backendtest.Advance(snap, shop("a"))
	r.reconcile(t, left)
	requireGroup(t, r, []string{"p-2"})
	r.requireSettled(t, left)
}

// TestAnAddressThatARuleListsStays has pods with it come and go.
func TestAnAddressThatARuleListsStays(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	listing := func(members ...string) *backendtest.State {
		state := shop("b")
		state.Sets[1].Keys = nil
		for _, name := range members {
			state.Sets[1].Keys = append(state.Sets[1].Keys, object.Key{Namespace: "shop", Name: name})
		}
		for i := range 9 {
			state.Sets[1].Prefixes = append(state.Sets[1].Prefixes, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)}), 32))
		}
		return state
	}
	was := listing("a").Snapshot()
	r.reconcile(t, was)
	all := r.addresses(t, "web")
	require.Len(t, all, 9)
	for _, members := range [][]string{{}, {"b"}, {"a"}, {}} {
		was = backendtest.Advance(was, listing(members...))
		r.reconcile(t, was)
		require.Equal(t, all, r.addresses(t, "web"), "%v", members)
		r.requireSettled(t, was)
	}
}
