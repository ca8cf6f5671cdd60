package ovn_test

import (
	"fmt"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// notes returns the notes about the policies of each home, by the IDs of policies.
func (r *rig) notes(t *testing.T) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	for _, row := range requireRows(t, r, "Address_Set") {
		ids := ovsdb.StringMap(row["external_ids"])
		home, isNotes := strings.CutPrefix(ids[ovn.KeyID], "policies/")
		if !isNotes {
			continue
		}
		require.Empty(t, ovsdb.Strings(row["addresses"]))
		out[home] = map[string]string{}
		for key, note := range ids {
			if !strings.HasPrefix(key, nb.KeyPrefix) {
				out[home][key] = note
			}
		}
	}
	return out
}

// withSecond gives each policy a second rule in common with others, in a group of its own.
func withSecond(s *backendtest.State) *backendtest.State {
	if len(s.Policies) == 0 {
		return s
	}
	second := backendtest.SetSpec{ID: "second"}
	for i := range s.Policies {
		p := &s.Policies[i]
		rule := p.Rules[0]
		rule.Path = "spec.ingress[7]"
		rule.Ports = intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: 9, Last: 9}}}
		rule.Parts = []intent.Part{{Shared: second.ID, Peer: rule.Peer}}
		p.Rules = append(p.Rules, rule)
		second.Keys = append(second.Keys, object.Key{Namespace: "shop", Name: p.Origin.Name})
	}
	s.Sets = append(s.Sets, second)
	return s
}

// TestAPolicyIsNotedInOneRow has policies with rules in two shared groups come, go and change: each is noted in the row of its namespace,
// in one operation.
func TestAPolicyIsNotedInOneRow(t *testing.T) {
	r := newRig(t, "ovn-kubernetes")
	both := func(path string) string { return "second spec.ingress[7]; together " + path }
	snap := intent.NewSnapshot()
	for i, step := range []struct {
		names []string
		moved string
		elses string // a policy that is in another namespace
		verb  backends.Verb
	}{
		{names: []string{"a"}, verb: backends.Create},
		{names: []string{"a", "b"}, verb: backends.Mutate},
		{names: []string{"a", "b"}, moved: "b", verb: backends.Mutate},
		{names: []string{"a", "b", "c"}, moved: "b", elses: "c", verb: backends.Create},
		{names: []string{"a", "b"}, moved: "b", verb: backends.Delete},
		{names: []string{"b"}, moved: "b", verb: backends.Mutate},
		{verb: backends.Delete},
	} {
		s := withSecond(alike(step.moved, step.names...))
		want := map[string]map[string]string{}
		for j := range s.Policies {
			p, home := &s.Policies[j], "shop"
			if p.Origin.Name == step.elses {
				home = "east/else"
				p.Origin.Cluster, p.Origin.Namespace = "east", "else"
				p.ID = intent.NewPolicyID(p.Origin, p.Direction)
			}
			if want[home] == nil {
				want[home] = map[string]string{}
			}
			want[home][string(p.ID)] = both(p.Rules[0].Path)
		}
		snap = backendtest.Advance(snap, s)
		var verbs []backends.Verb
		p := r.reconcile(t, snap)
		for k := range p.Ops {
			if p.Ops[k].Kind == "Address_Set" && strings.HasPrefix(p.Ops[k].Name, "nlnotes") {
				verbs = append(verbs, p.Ops[k].Verb)
			}
		}
		require.Equal(t, []backends.Verb{step.verb}, verbs, "step %d", i)
		require.Equal(t, want, r.notes(t), "step %d", i)
	}
	r.requireSettled(t, snap)
}

// noteByGroup replaces the notes about policies by those of earlier versions: a row for each shared group, keyed by the origin.
func (r *rig) noteByGroup(t *testing.T, group string, names ...string) {
	t.Helper()
	for _, row := range requireRows(t, r, "Address_Set") {
		if strings.HasPrefix(ovsdb.StringMap(row["external_ids"])[ovn.KeyID], "policies/") {
			r.transact(t, ovsdb.Delete("Address_Set", ovsdb.String(row["_uuid"])))
		}
	}
	ids := map[string]string{ovn.KeyOwner: "a", ovn.KeyID: "notes/" + group}
	for _, name := range names {
		ids["NetworkPolicy/shop/"+name] = "spec.ingress[0]"
	}
	r.transact(t, ovsdb.Insert("Address_Set", nb.NewNamer("a").UUID("Address_Set", "notes/"+group), libovsdb.Row{
		"name": "nlnotes_of_" + group, "external_ids": ovsdb.Map(ids),
	}))
}

// TestNotesByGroup reads notes of earlier versions, which the first plan replaces, and keeps policies that only they name.
func TestNotesByGroup(t *testing.T) {
	whole := alike("", "a", "b", "c")
	r := lostRig(t, whole)
	r.noteByGroup(t, "together", "a", "b", "c")
	requireSharedRow(t, r, "b", true, false)
	requireTrails(t, r, []string{"a", "b", "c"}, "")
	p := r.full(t, whole.Snapshot())
	require.Len(t, p.Ops, 2, text(t, p, ""))
	require.Empty(t, p.Lost)

	less := alike("", "c").Snapshot()
	p = r.full(t, less)
	require.Subset(t, p.Lost, []object.Ref{policyRef("a"), policyRef("b")})
	require.Equal(t, 3, p.Objects["NetworkPolicy"])
	r.backend.Keep([]object.Ref{policyRef("a")})
	p = r.full(t, less)
	require.Equal(t, []object.Ref{policyRef("a")}, p.Kept)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	for _, name := range []string{"a", "b", "c"} {
		requireSharedRow(t, r, name, name != "b", false)
	}
	ports, _ := r.groupPorts(t, "together")
	require.Equal(t, []string{"shop_a", "shop_b", "shop_c"}, ports)

	r.backend.Keep(nil)
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, whole.Snapshot())))
	require.Equal(t, fmt.Sprint(map[string]map[string]string{"shop": {
		"NetworkPolicy/shop/a/ingress": "together spec.ingress[0]",
		"NetworkPolicy/shop/b/ingress": "together spec.ingress[0]",
		"NetworkPolicy/shop/c/ingress": "together spec.ingress[0]",
	}}), fmt.Sprint(r.notes(t)))
	r.requireSettled(t, whole.Snapshot())
}
