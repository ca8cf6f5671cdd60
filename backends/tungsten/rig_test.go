package tungsten_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/backends/tungsten/tungstentest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// shops is a state with n policies, each for the pods of one shop in both directions, and pods pods that are spread over them.
func shops(n, pods int) *backendtest.State {
	s := &backendtest.State{}
	members := make([][]object.Key, n)
	for i := range pods {
		e := intent.Endpoint{
			Key:   object.Key{Namespace: fmt.Sprintf("shop-%d", i%n), Name: fmt.Sprintf("p-%d", i)},
			Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})},
		}
		s.Endpoints = append(s.Endpoints, e)
		members[i%n] = append(members[i%n], e.Key)
	}
	for i := range n {
		subject, peer := intent.SetID(fmt.Sprintf("shop-%d", i)), intent.SetID(fmt.Sprintf("shop-%d", (i+1)%n))
		s.Sets = append(s.Sets, backendtest.SetSpec{ID: subject, Keys: members[i]})
		s.Policies = append(s.Policies, policy(fmt.Sprintf("p-%d", i), intent.Ingress, subject, rule(intent.Allow, peer, tcp(80, 80))))
		s.Policies = append(s.Policies, policy(fmt.Sprintf("p-%d", i), intent.Egress, subject, rule(intent.Allow, peer, tcp(443, 443))))
	}
	return s
}

// rig is a backend of a target, driven as the daemon does.
type rig struct {
	target  *tungstentest.Target
	backend *tungsten.Backend
	reached intent.Revision
}

func newRig(t testing.TB, target *tungstentest.Target, owner string) *rig {
	t.Helper()
	b, ok := target.Open(t, owner).(*tungsten.Backend)
	require.True(t, ok)
	return &rig{target: target, backend: b}
}

// try plans and applies once.
func (r *rig) try(t testing.TB, want *intent.Snapshot) (*backends.Plan, error) {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), want, r.reached)
	if err == nil && p.Resync {
		p, err = r.backend.Plan(t.Context(), want, 0)
	}
	if err == nil {
		err = r.backend.Apply(t.Context(), p)
	}
	if r.reached = 0; err == nil {
		r.reached = want.Revision()
	}
	return p, err
}

// sync makes the target as wanted.
func (r *rig) sync(t testing.TB, s *backendtest.State, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	r.target.Prepare(t, s.Endpoints, nil)
	p, err := r.try(t, want)
	require.NoError(t, err)
	return p
}

// judge compares the verdicts of the vrouter with those of a snapshot, except for what is skipped.
func (r *rig) judge(t testing.TB, s *backendtest.State, want *intent.Snapshot) {
	t.Helper()
	for _, f := range backendtest.Probes(s) {
		require.Equal(t, want.Evaluate(f).Allowed, r.target.Verdict(t, f).Allowed, backendtest.FlowText(f))
	}
}

// sum adds up calls.
func sum(calls map[string]int) int {
	n := 0
	for _, c := range calls {
		n += c
	}
	return n
}
