package ovn_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// missing lists the selected endpoints that have no logical port, and what was looked for.
func (r *rig) missing(t testing.TB) []string {
	t.Helper()
	var out []string
	for gap := range r.coverage(t).Missing.All() {
		out = append(out, gap.Endpoint.String()+": "+gap.Lacks)
	}
	return out
}

func (r *rig) coverage(t testing.TB) backends.Coverage {
	t.Helper()
	c, ok := backends.CoverageOf(r.backend)
	require.True(t, ok, "there is no coverage")
	return c
}

// restart makes another process, which knows nothing, look for ports by other names.
func (r *rig) restart(t testing.TB, ports string, change func(*ovn.Options)) {
	t.Helper()
	names, err := ovn.ParsePortNames(ports)
	require.NoError(t, err)
	r.client = r.connect(t, names)
	opts := ovn.Options{Owner: "a", Ports: names, MaxDeleteFraction: 0.5}
	if change != nil {
		change(&opts)
	}
	r.backend, err = ovn.New(r.client, opts)
	require.NoError(t, err)
	r.reached = 0
}

// TestCoverageFollowsChanges compares the running counts with those of a new process.
func TestCoverageFollowsChanges(t *testing.T) {
	t.Run("of a NetworkPolicy", func(t *testing.T) { requireCoverage(t, func(*intent.Policy) {}) })
	t.Run("of a cluster-wide policy", func(t *testing.T) {
		requireCoverage(t, func(p *intent.Policy) {
			p.Tier, p.Isolates = intent.TierAdmin, false
			for i := range p.Rules {
				p.Rules[i].Action = intent.Deny
			}
		})
	})
}

// requireCoverage goes through changes with a policy of some form.
func requireCoverage(t *testing.T, form func(*intent.Policy)) {
	t.Helper()
	r := newRig(t, "ovn-kubernetes")
	_, ok := backends.CoverageOf(r.backend)
	require.False(t, ok, "nothing was planned yet")
	steps := []struct {
		name    string
		do      func()
		members []string
		bare    string // a pod without an address
		missing []string
	}{
		{name: "one of two has a port", do: func() { r.addPort(t, "shop_a", nil) }, members: []string{"a", "b"}, missing: []string{"shop/b"}},
		{name: "a third joins", members: []string{"a", "b", "c"}, missing: []string{"shop/b", "shop/c"}},
		{name: "a port appears", do: func() { r.addPort(t, "shop_b", nil) }, members: []string{"a", "b", "c"}, missing: []string{"shop/c"}},
		{name: "a port goes", do: func() { r.deletePort(t, "shop_a") }, members: []string{"a", "b", "c"}, missing: []string{"shop/a", "shop/c"}},
		{name: "its pod leaves", members: []string{"b", "c"}, missing: []string{"shop/c"}},
		{name: "a pod loses its address", members: []string{"b", "c"}, bare: "c"},
		{name: "it gets one", members: []string{"b", "c"}, missing: []string{"shop/c"}},
		{name: "nothing is selected", members: nil},
		{name: "all are back", members: []string{"a", "b", "c"}, missing: []string{"shop/a", "shop/c"}},
	}
	snap := intent.NewSnapshot()
	for i, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			if step.do != nil {
				step.do()
			}
			state, selected := shop(step.members...), len(step.members)
			for i := range state.Policies {
				form(&state.Policies[i])
			}
			if len(step.members) == 0 {
				state.Sets, state.Policies = nil, nil
			}
			if step.bare != "" {
				state.Endpoints[2].Addrs = nil
				selected--
			}
			if i == 0 {
				snap = state.Snapshot()
			} else {
				snap = backendtest.Advance(snap, state)
			}
			p := r.reconcile(t, snap)
			require.Equal(t, i == 0, p.Full, "full")
			for range 2 {
				c := r.coverage(t)
				require.Equal(t, selected, c.Selected)
				require.Equal(t, selected-len(step.missing), c.Enforced())
				var missing []string
				for gap := range c.Missing.All() {
					missing = append(missing, gap.Endpoint.String())
				}
				require.Equal(t, step.missing, missing)
				r.requireSettled(t, snap) // counts from scratch
			}
		})
	}
}

// town is n pods of one set, with ports of the names that a pattern gives; a policy admits web to them.
func town(n int) *backendtest.State {
	s := shop()
	for i := range n {
		e := intent.Endpoint{
			Key:   object.Key{Namespace: fmt.Sprintf("ns-%d", i%3), Name: fmt.Sprintf("web-%d", i)},
			Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 1, byte(i / 250), byte(i%250 + 1)})},
		}
		s.Endpoints = append(s.Endpoints, e)
		s.Sets[0].Keys = append(s.Sets[0].Keys, e.Key)
	}
	return s
}

func (r *rig) portCount(t testing.TB, id intent.SetID) int {
	t.Helper()
	ports, _ := r.groupPorts(t, id)
	return len(ports)
}

// TestWrongPortNamesIsolateStill restarts with a pattern that matches no port of the database.
func TestWrongPortNamesIsolateStill(t *testing.T) {
	for _, tc := range []struct {
		name, was, now, hint string
		spell                string // of the names of the ports, with the namespace and the pod
	}{
		{
			"kube-ovn's, taken for ovn-kubernetes'", "kube-ovn", "ovn-kubernetes",
			"pods are not found by {namespace}_{pod}: expected logical port ns-0_web-0, the database has web-0.ns-0; try --ovn-port-names kube-ovn",
			"%[2]s.%[1]s",
		},
		{
			"a pattern of their own", "x-{namespace}-{pod}.eth0", "kube-ovn",
			"pods are not found by {pod}.{namespace}: expected logical port web-0.ns-0, the database has x-ns-0-web-0.eth0; try --ovn-port-names 'x-{namespace}-{pod}.eth0'",
			"x-%s-%s.eth0",
		},
		{
			"a key that no port has", "ovn-kubernetes", "external-ids:wrong",
			"pods are not found by external-ids:wrong: expected logical port with external_ids:wrong=ns-0/web-0, the database has ns-0_web-0; try --ovn-port-names ovn-kubernetes",
			"%s_%s",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.was)
			state := town(30)
			for _, k := range state.Sets[0].Keys {
				r.addPort(t, fmt.Sprintf(tc.spell, k.Namespace, k.Name), nil)
			}
			snap := state.Snapshot()
			r.reconcile(t, snap)
			require.Equal(t, 30, r.portCount(t, intent.IsolatedIngress))

			r.restart(t, tc.now, nil)
			deny := town(30)
			deny.Policies = append(deny.Policies, admit("new", "all", "web", 80))
			deny.Sets = append(deny.Sets, backendtest.SetSpec{ID: "all", Keys: deny.Sets[0].Keys[:10]})
			now := deny.Snapshot()
			r.reconcile(t, now)
			require.Equal(t, 30, r.portCount(t, intent.IsolatedIngress), "no pod is open")
			require.Equal(t, 30, r.portCount(t, "db"))
			require.Equal(t, 10, r.portCount(t, "all"), "a new policy is enforced")
			c := r.coverage(t)
			require.Equal(t, 30, c.Kept)
			require.False(t, c.Complete())
			require.Equal(t, tc.hint, c.Hint)
			r.requireSettled(t, now)

			t.Run("a pod that leaves a set leaves its group", func(t *testing.T) {
				deny.Sets[0].Keys = deny.Sets[0].Keys[1:]
				next := backendtest.Advance(now, deny)
				r.reconcile(t, next)
				require.Equal(t, 29, r.portCount(t, "db"))
				r.requireSettled(t, next)
			})
			t.Run("with the right pattern nothing is retained", func(t *testing.T) {
				r.restart(t, tc.was, nil)
				r.requireSettled(t, deny.Snapshot())
				require.True(t, r.coverage(t).Complete())
			})
		})
	}
}

// TestPortsOfUnknownPodsAreRetained has ports whose names do not identify their pods.
func TestPortsOfUnknownPodsAreRetained(t *testing.T) {
	r := newRig(t, "external-ids:pod")
	state := town(30)
	for i, k := range state.Sets[0].Keys {
		r.addPort(t, fmt.Sprintf("7f%02d", i), map[string]string{"pod": k.Namespace + "/" + k.Name})
	}
	snap := state.Snapshot()
	r.reconcile(t, snap)
	require.Equal(t, 30, r.portCount(t, "db"))

	r.restart(t, "ovn-kubernetes", nil)
	r.reconcile(t, snap)
	require.Equal(t, 30, r.portCount(t, intent.IsolatedIngress))
	require.Equal(t, 30, r.portCount(t, "db"))
	c := r.coverage(t)
	require.Equal(t, 30, c.Held)
	require.Equal(t, 30, c.Missing.Len(), "their pods are not known")
	require.Contains(t, c.Hint, "the database has names such as 7f00, 7f01; check --ovn-port-names")
	r.requireSettled(t, snap)

	t.Run("unless all may leave", func(t *testing.T) {
		r.restart(t, "ovn-kubernetes", func(o *ovn.Options) { o.MaxDeleteFraction = 1 })
		r.reconcile(t, snap)
		require.Zero(t, r.portCount(t, intent.IsolatedIngress))
	})
}

// TestPodsThatLeaveTakeTheirPorts has most pods leave while some new ones have no port yet: the pattern is not wrong.
func TestPodsThatLeaveTakeTheirPorts(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	state := town(30)
	for _, k := range state.Sets[0].Keys[:29] {
		r.addPort(t, k.Namespace+"_"+k.Name, nil)
	}
	r.reconcile(t, state.Snapshot())
	state.Sets[0].Keys = state.Sets[0].Keys[25:]
	r.restart(t, "ovn-kubernetes", nil)
	r.reconcile(t, state.Snapshot())
	require.Equal(t, 4, r.portCount(t, intent.IsolatedIngress))
	require.Zero(t, r.coverage(t).Held)
	require.Equal(t, []string{"ns-2/web-29: logical port ns-2_web-29"}, r.missing(t))
	require.Empty(t, r.coverage(t).Hint)
}

// TestPortsThatAreRenamedAtOnceStay renames the ports of all pods while netloom runs.
func TestPortsThatAreRenamedAtOnceStay(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	state := town(30)
	for _, k := range state.Sets[0].Keys {
		r.addPort(t, k.Namespace+"_"+k.Name, nil)
	}
	snap := state.Snapshot()
	r.reconcile(t, snap)
	var names []string
	for _, k := range state.Sets[0].Keys {
		names = append(names, k.Namespace+"_"+k.Name, k.Name+"."+k.Namespace)
	}
	r.rename(t, names...)
	r.reconcile(t, snap)
	require.Equal(t, 30, r.portCount(t, intent.IsolatedIngress))
	require.Equal(t, 30, r.coverage(t).Kept)
	r.requireSettled(t, snap)
}
