package ovn_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

func policyRef(name string) object.Ref {
	return object.Ref{Kind: "NetworkPolicy", Namespace: "shop", Name: name}
}

func portRef(name string) object.Ref {
	return object.Ref{Kind: backends.KindPort, Name: "shop_" + name}
}

// deny isolates the members of a set and allows nothing.
func deny(name string, subject intent.SetID) intent.Policy {
	p := admit(name, subject, "", 0)
	p.Rules = nil
	return p
}

// forget replaces the backend by one that knows nothing.
func (r *rig) forget(t *testing.T, lbs ovn.LoadBalancing) {
	t.Helper()
	names, err := ovn.ParsePortNames("ovn-kubernetes")
	require.NoError(t, err)
	r.backend, err = ovn.New(r.client, ovn.Options{Owner: "a", Ports: names, LoadBalancing: lbs})
	require.NoError(t, err)
	r.reached = 0
}

// full plans from read-back.
func (r *rig) full(t *testing.T, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), want, 0)
	require.NoError(t, err)
	return p
}

// isolated is a cluster with a policy of rules for a and b, and one that only isolates c.
func isolated() *backendtest.State {
	s := shop("a", "b")
	s.Sets = append(s.Sets, backendtest.SetSpec{ID: "only-c", Keys: []object.Key{{Namespace: "shop", Name: "c"}}},
		backendtest.SetSpec{ID: "only-w", Keys: []object.Key{{Namespace: "shop", Name: "w"}}})
	s.Policies = append(s.Policies, deny("deny", "only-c"))
	return s
}

func lostRig(t *testing.T, s *backendtest.State) *rig {
	t.Helper()
	r := newRig(t, "ovn-kubernetes")
	for _, e := range s.Endpoints {
		r.addPort(t, e.Key.Namespace+"_"+e.Key.Name, nil)
	}
	r.reconcile(t, s.Snapshot())
	r.forget(t, ovn.LoadBalancing{})
	return r
}

func TestLostPoliciesAreFoundAndKeptAsTheyAre(t *testing.T) {
	r := lostRig(t, isolated())
	without := isolated()
	without.Policies = nil
	p := r.full(t, without.Snapshot())
	lost := []object.Ref{policyRef("db"), portRef("a"), portRef("b"), portRef("c")}
	require.Equal(t, lost, p.Lost)
	require.Equal(t, map[string]int{"NetworkPolicy": 1, backends.KindPort: 3}, p.Objects)
	require.Empty(t, p.Kept)

	r.backend.Keep(p.Lost)
	p = r.full(t, without.Snapshot())
	require.Empty(t, p.Ops, "%s", text(t, p, ""))
	require.Equal(t, lost, p.Kept)
	require.Empty(t, p.Lost)

	// All else is written: a policy that isolates one more pod.
	without.Policies = []intent.Policy{deny("new", "only-w")}
	next := without.Snapshot()
	p = r.full(t, next)
	require.NotEmpty(t, p.Ops)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	ports, _ := r.groupPorts(t, intent.IsolatedIngress)
	require.Equal(t, []string{"shop_a", "shop_b", "shop_c", "shop_w"}, ports)
	require.Equal(t, []string{"10.0.0.9"}, r.addresses(t, "web"), "what is kept refers to it")
	ports, _ = r.groupPorts(t, "db")
	require.Equal(t, []string{"shop_a", "shop_b"}, ports)
	require.Empty(t, r.full(t, next).Ops)

	// A part is released.
	r.backend.Keep([]object.Ref{policyRef("db"), portRef("a"), portRef("b")})
	p = r.full(t, next)
	require.Equal(t, []object.Ref{portRef("c")}, p.Lost)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	ports, _ = r.groupPorts(t, intent.IsolatedIngress)
	require.Equal(t, []string{"shop_a", "shop_b", "shop_w"}, ports)

	r.backend.Keep(nil)
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, next)))
	ports, _ = r.groupPorts(t, intent.IsolatedIngress)
	require.Equal(t, []string{"shop_w"}, ports)
	_, there := r.groupPorts(t, "db")
	require.False(t, there)
	r.requireSettled(t, next)
}

func TestAPolicyThatSharesAGroupIsKeptBesideAnEdit(t *testing.T) {
	s := isolated()
	s.Policies = append(s.Policies, admit("second", "db", "web", 80))
	r := lostRig(t, s)
	s.Policies = []intent.Policy{admit("second", "db", "web", 81)}
	p := r.full(t, s.Snapshot())
	r.backend.Keep(p.Lost)
	want := s.Snapshot()
	p = r.full(t, want)
	require.Contains(t, text(t, p, ""), "tcp.dst == 81")
	require.Equal(t, 1, p.Deletes(), "the rule of port 80: an edit deletes")
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Empty(t, r.full(t, want).Ops)
	acls := map[string]bool{}
	for _, acl := range r.acls(t) {
		acls[acl["match"].(string)] = true
	}
	require.Len(t, acls, 2, "5432 and 81")
}

func TestPodsThatAreMissingStayIsolated(t *testing.T) {
	r := lostRig(t, isolated())
	gone := isolated()
	gone.Endpoints = gone.Endpoints[3:]
	gone.Sets = []backendtest.SetSpec{{ID: "db"}, {ID: "web"}, {ID: "only-c"}, {ID: "only-w"}}
	p := r.full(t, gone.Snapshot())
	require.Equal(t, []object.Ref{portRef("a"), portRef("b"), portRef("c")}, p.Lost)
	r.backend.Keep(p.Lost)
	p = r.full(t, gone.Snapshot())
	require.NoError(t, r.backend.Apply(t.Context(), p))
	ports, _ := r.groupPorts(t, intent.IsolatedIngress)
	require.Equal(t, []string{"shop_a", "shop_b", "shop_c"}, ports)
	ports, _ = r.groupPorts(t, "db")
	require.Equal(t, []string{"shop_a", "shop_b"}, ports, "what may reach them may still")
}

func TestWhatIsTakenOverIsNoLoss(t *testing.T) {
	r := lostRig(t, isolated())
	r.backend.Keep([]object.Ref{policyRef("db"), portRef("a"), portRef("c")})
	p := r.full(t, isolated().Snapshot())
	require.Empty(t, p.Ops)
	require.Empty(t, p.Lost)
	require.Empty(t, p.Kept, "all of it is back")
}

func TestLostServicesStayBalanced(t *testing.T) {
	lbs := ovn.LoadBalancing{Switches: "sw0"}
	r := newRigOn(t, schema.NB2503(), "ovn-kubernetes", lbs)
	s := shop()
	lb := func(name, vip string) intent.LoadBalancer {
		o := intent.Origin{Kind: "Service", Namespace: "shop", Name: name}
		return intent.LoadBalancer{ID: intent.LoadBalancerID(o.String()), Origin: o, Frontends: []intent.Frontend{{
			Addr: netip.MustParseAddr(vip), Port: 80, Protocol: intent.TCP, Kind: intent.ClusterAddress,
			Backends: intent.NewBackends(intent.Backend{Addr: netip.MustParseAddr("10.0.0.1"), Port: 8080}),
		}}}
	}
	s.LoadBalancers = []intent.LoadBalancer{lb("a", "10.96.0.1"), lb("b", "10.96.0.2")}
	r.reconcile(t, s.Snapshot())
	r.forget(t, lbs)
	s.LoadBalancers = nil
	p := r.full(t, s.Snapshot())
	svc := func(name string) object.Ref { return object.Ref{Kind: "Service", Namespace: "shop", Name: name} }
	require.Equal(t, []object.Ref{svc("a"), svc("b")}, p.Lost)
	r.backend.Keep(p.Lost)
	p = r.full(t, s.Snapshot())
	require.Equal(t, []object.Ref{svc("a"), svc("b")}, p.Kept)
	require.Empty(t, p.Ops, "%s", text(t, p, ""))

	s.LoadBalancers = []intent.LoadBalancer{lb("c", "10.96.0.3")}
	want := s.Snapshot()
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, want)))
	require.Empty(t, r.full(t, want).Ops)
	require.Contains(t, r.server.Dump(), "10.96.0.1")
	require.Contains(t, r.server.Dump(), "10.96.0.3")

	r.backend.Keep(nil)
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, want)))
	require.NotContains(t, r.server.Dump(), "10.96.0.1")
	r.requireSettled(t, want)
}

// TestALostEqualPolicyIsKept loses a policy whose ACL names an older one, alone and together with that one.
func TestALostEqualPolicyIsKept(t *testing.T) {
	both := isolated()
	both.Policies = append(both.Policies, admit("zz", "db", "web", 5432))
	r := lostRig(t, both)
	rule := func(name string) []string {
		rows, err := r.backend.ReadRows(t.Context(), policyRef(name))
		require.NoError(t, err)
		var out []string
		for _, row := range rows {
			if row.Table == "ACL" {
				out = append(out, row.Rule)
			}
		}
		return out
	}
	p := r.full(t, isolated().Snapshot())
	require.Empty(t, p.Lost, "the ACL stays for the older one")
	require.Equal(t, 2, p.Objects["NetworkPolicy"])

	none := isolated()
	none.Policies = nil
	p = r.full(t, none.Snapshot())
	require.Subset(t, p.Lost, []object.Ref{policyRef("db"), policyRef("zz")})
	r.backend.Keep([]object.Ref{policyRef("zz"), portRef("a")})
	p = r.full(t, none.Snapshot())
	require.Equal(t, []object.Ref{policyRef("zz"), portRef("a")}, p.Kept)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Equal(t, []string{"ingress[0]"}, rule("zz"))

	r.backend.Keep(nil)
	require.NoError(t, r.backend.Apply(t.Context(), r.full(t, none.Snapshot())))
	require.Empty(t, rule("zz"))
	r.requireSettled(t, none.Snapshot())
}

// TestAKeptPolicyKeepsWhatAnOlderOneNames keeps a policy with a rule of its own and one that it has in common with an older policy, which then goes on
// purpose.
func TestAKeptPolicyKeepsWhatAnOlderOneNames(t *testing.T) {
	two := func() intent.Policy {
		b := admit("zz", "db", "web", 5432)
		r := b.Rules[0]
		r.Path = "spec.ingress[1]"
		r.Ports = intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: 81, Last: 81}}}
		b.Rules = append(b.Rules, r)
		return b
	}
	s := isolated()
	s.Policies = append(s.Policies, two())
	r := lostRig(t, s)
	only := isolated()
	r.backend.Keep([]object.Ref{policyRef("zz"), portRef("a"), portRef("b")})
	p := r.full(t, only.Snapshot())
	require.NoError(t, r.backend.Apply(t.Context(), p))
	// A is deleted, deliberately
	none := isolated()
	none.Policies = none.Policies[1:]
	p = r.full(t, none.Snapshot())
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Len(t, r.acls(t), 2, "both rules of the kept policy stay")
}

// TestPodsOfAKeptPolicyStayIsolated keeps a policy while another one isolates the same pods, which then goes on purpose.
func TestPodsOfAKeptPolicyStayIsolated(t *testing.T) {
	s := isolated()
	s.Policies = append(s.Policies, admit("zz", "db", "web", 81))
	r := lostRig(t, s)
	only := isolated()
	snap := only.Snapshot()
	p := r.full(t, snap)
	r.backend.Keep(p.Lost)
	p = r.full(t, snap)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	r.backend.Keep(p.Kept)
	none := isolated()
	none.Policies = none.Policies[1:]
	p = r.full(t, none.Snapshot())
	require.NoError(t, r.backend.Apply(t.Context(), p))
	ports, _ := r.groupPorts(t, intent.IsolatedIngress)
	require.Contains(t, ports, "shop_a", "zz is kept and isolates a")
}
