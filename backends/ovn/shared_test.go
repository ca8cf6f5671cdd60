package ovn_test

import (
	"fmt"
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// alike is a cluster whose pods have a policy each, with the same name and one rule in common. Moved is a policy whose rule comes second.
func alike(moved string, names ...string) *backendtest.State {
	s := shop()
	s.Policies = nil
	shared := backendtest.SetSpec{ID: "together"}
	for _, name := range names {
		k := object.Key{Namespace: "shop", Name: name}
		s.Sets = append(s.Sets, backendtest.SetSpec{ID: intent.SetID("only-" + name), Keys: []object.Key{k}})
		shared.Keys = append(shared.Keys, k)
		p := admit(name, intent.SetID("only-"+name), "web", 80)
		p.Rules[0].Parts = []intent.Part{{Shared: "together", Peer: p.Rules[0].Peer}}
		if name == moved {
			p.Rules[0].Path = "spec.ingress[1]"
		}
		s.Policies = append(s.Policies, p)
	}
	if len(names) > 0 {
		s.Sets = append(s.Sets, shared)
	}
	return s
}

// TestSharedRules walks through clusters in which policies with a rule in common come, go and move the rule. What they share is one ACL
// in a group of all of their pods, which is never written again.
func TestSharedRules(t *testing.T) {
	t.Run("compared with everything after each step", func(t *testing.T) { walkSharedRules(t, true) })
	t.Run("from changes alone", func(t *testing.T) { walkSharedRules(t, false) })
}

func walkSharedRules(t *testing.T, settle bool) {
	t.Helper()
	r := newRig(t, "ovn-kubernetes")
	for _, e := range shop().Endpoints {
		r.addPort(t, e.Key.Namespace+"_"+e.Key.Name, nil)
	}
	snap := intent.NewSnapshot()
	for i, step := range []struct {
		moved string
		names []string
		acls  int // the deny, address resolution and the shared one
	}{
		{names: []string{"a", "b"}, acls: 3},
		{names: []string{"a", "b", "c"}, acls: 3},
		{names: []string{"b", "c"}, acls: 3},
		{names: []string{"b", "c"}, moved: "b", acls: 3},
		{names: []string{"a", "c"}, acls: 3},
		{names: []string{"c"}, acls: 3},
		{acls: 0},
		{names: []string{"a", "b", "c"}, acls: 3},
		{acls: 0},
	} {
		before := len(allACLs(t, r))
		snap = backendtest.Advance(snap, alike(step.moved, step.names...))
		p := r.reconcile(t, snap)
		require.Len(t, allACLs(t, r), step.acls, "step %d", i)
		if before == step.acls {
			require.False(t, slices.ContainsFunc(p.Ops, func(op backends.Op) bool { return op.Kind == "ACL" }), "step %d", i)
		}
		ports, there := r.groupPorts(t, "together")
		require.Equal(t, step.acls > 0, there)
		require.Len(t, ports, len(step.names))
		for _, name := range []string{"a", "b", "c"} {
			requireSharedRow(t, r, name, slices.Contains(step.names, name), name == step.moved)
		}
		requireTrails(t, r, step.names, step.moved)
		if settle {
			r.requireSettled(t, snap)
		}
	}
	r.requireSettled(t, snap)
}

// allACLs lists the ACLs, also those that name no rule.
func allACLs(t *testing.T, r *rig) []libovsdb.Row {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "ACL", nil, "_uuid")
	require.NoError(t, err)
	return rows
}

// requireSharedRow looks for the ACL of a policy.
func requireSharedRow(t *testing.T, r *rig, name string, exists, moved bool) {
	t.Helper()
	rows, err := r.backend.ReadRows(t.Context(), policyRef(name))
	require.NoError(t, err)
	rows = slices.DeleteFunc(rows, func(row backends.Row) bool { return row.Table != "ACL" })
	if !exists {
		require.Empty(t, rows, name)
		return
	}
	require.Len(t, rows, 1, name)
	want := "ingress[0]"
	if moved {
		want = "ingress[1]"
	}
	require.Equal(t, want, rows[0].Rule, name)
	require.NotContains(t, rows[0].Also, "shop/"+name+" ")
}

// requireTrails follows the shared ACL back to its policies.
func requireTrails(t *testing.T, r *rig, names []string, moved string) {
	t.Helper()
	var want []string
	for _, name := range names {
		path := "spec.ingress[0]"
		if name == moved {
			path = "spec.ingress[1]"
		}
		want = append(want, fmt.Sprintf("NetworkPolicy/shop/%s %s", name, path))
	}
	if len(names) == 0 {
		return
	}
	trails, err := r.backend.Trails(t.Context(), "netloom rules of several policies, ingress")
	require.NoError(t, err)
	require.Len(t, trails, 1)
	require.Equal(t, want, trails[0].Origins)
}

// TestSharedRulesAreExplained counts and names the rows of a policy whose rule has a part in common with others, and one of its own.
func TestSharedRulesAreExplained(t *testing.T) {
	s := alike("", "a", "b")
	s.Sets = append(s.Sets, backendtest.SetSpec{ID: "c", Keys: []object.Key{{Namespace: "shop", Name: "c"}}})
	own := intent.Part{Peer: intent.Peer{Kind: intent.PeerSet, Set: "c"}}
	s.Sets = append(s.Sets, backendtest.SetSpec{ID: "web or c", Keys: []object.Key{{Namespace: "shop", Name: "w"}, {Namespace: "shop", Name: "c"}}})
	rule := &s.Policies[0].Rules[0]
	rule.Peer.Set, rule.Parts = "web or c", append(rule.Parts, own)
	want := s.Snapshot()
	r := newRigOn(t, schema.NB2503(), "ovn-kubernetes", ovn.LoadBalancing{})
	e := ovn.NewExplainer(r.client.Schema(), ovn.Naming{Owner: "a"})
	require.Len(t, e.PolicyRows(want, s.Policies[0].Origin), 2)
	rows := e.PolicyRows(want, s.Policies[1].Origin)
	require.Len(t, rows, 1)
	require.Equal(t, "spec.ingress[0]", rows[0].Rule)
	require.Equal(t, 4, e.Estimate(want).ACLs, "the deny, address resolution, the shared one and one of its own")

	r.reconcile(t, want)
	uuids := map[string]bool{}
	for _, acl := range allACLs(t, r) {
		uuids[ovsdb.String(acl["_uuid"])] = true
	}
	party := func(e intent.Endpoint) intent.Party { return intent.Party{Key: e.Key, Addr: e.Addrs[0]} }
	for _, from := range []intent.Endpoint{s.Endpoints[2], s.Endpoints[3]} {
		f := intent.Flow{Src: party(from), Dst: party(s.Endpoints[0]), Protocol: intent.TCP, Port: 80}
		v := want.Evaluate(f)
		require.True(t, v.Allowed)
		by := e.DecidingRows(want, &f, intent.Ingress, v.Ingress.By)
		require.Len(t, by, 1, from.Key)
		require.Equal(t, "NetworkPolicy/shop/a spec.ingress[0]", by[0].For)
		require.True(t, uuids[by[0].UUID], "%v is not among %v", by[0], uuids)
	}
}

// TestLostSharersAreKept loses policies that only a note about a shared ACL names.
func TestLostSharersAreKept(t *testing.T) {
	r := lostRig(t, alike("", "a", "b", "c"))
	less := alike("", "c").Snapshot()
	p := r.full(t, less)
	require.Subset(t, p.Lost, []object.Ref{policyRef("a"), policyRef("b")})
	require.Equal(t, 3, p.Objects["NetworkPolicy"])
	r.backend.Keep([]object.Ref{policyRef("a")})
	p = r.full(t, less)
	require.Equal(t, []object.Ref{policyRef("a")}, p.Kept)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	ports, _ := r.groupPorts(t, "together")
	require.Equal(t, []string{"shop_a", "shop_b", "shop_c"}, ports)
	requireSharedRow(t, r, "a", true, false)
	requireSharedRow(t, r, "b", false, false)
	requireSharedRow(t, r, "c", true, false)

	none := alike("").Snapshot()
	r.backend.Keep([]object.Ref{policyRef("a")})
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, none)))
	requireSharedRow(t, r, "a", true, false)
	requireSharedRow(t, r, "c", false, false)
	ports, _ = r.groupPorts(t, "together")
	require.Contains(t, ports, "shop_a")

	r.backend.Keep(nil)
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, none)))
	_, there := r.groupPorts(t, "together")
	require.False(t, there)
	r.requireSettled(t, none)
}

// TestSharersCostWhatTheirOwnPodsCost has policies with a rule in common, which costs none of them more than if it were alone.
func TestSharersCostWhatTheirOwnPodsCost(t *testing.T) {
	s := alike("", "a", "b", "c")
	for i := range s.Endpoints {
		s.Endpoints[i].Node = "n1"
	}
	r := newRig(t, "ovn-kubernetes")
	e := ovn.NewExplainer(r.client.Schema(), ovn.Naming{Owner: "a"})
	flows := func() map[string]int {
		rows := e.PolicyRows(s.Snapshot(), s.Policies[0].Origin)
		require.Len(t, rows, 1)
		return rows[0].Flows
	}
	shared := flows()
	s.Policies[0].Rules[0].Parts = nil
	require.Equal(t, flows(), shared)
}
