package ovn_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

// announced is a set of prefixes of both families that a snapshot may announce. Each has a third as many of IPv6. Every other one also has
// a member.
func announced(i, n int) backendtest.SetSpec {
	s := backendtest.SetSpec{ID: intent.SetID(fmt.Sprintf("blocks-%d", i)), Bare: i%2 == 0}
	if !s.Bare {
		s.Keys = []object.Key{pod("w", 9).Key}
	}
	for k := range n {
		s.Prefixes = append(s.Prefixes, netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16, byte(i), byte(2 * k)}), 32))
	}
	for k := range n / 3 {
		s.Prefixes = append(s.Prefixes, netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, byte(i), 15: byte(2 * k)}), 128))
	}
	return s
}

// announcing returns the successor of a snapshot that has a state and announces some sets as far as ready says, by the index of the set.
func announcing(was *intent.Snapshot, s *backendtest.State, ready map[int]int, size int) *intent.Snapshot {
	var list []intent.Ahead
	for i := range 4 {
		if n, some := ready[i]; some {
			spec := announced(i, size)
			list = append(list, intent.Ahead{Set: &intent.Set{ID: spec.ID, Prefixes: spec.Prefixes}, Ready: min(n, len(spec.Prefixes))})
		}
	}
	was = backendtest.Advance(was, s)
	next := was.Next()
	next.SetAhead(list)
	return next.Commit()
}

// blocked is the state in which policies refer to some of the sets, by their index.
func blocked(size int, of ...int) *backendtest.State {
	s := shop("a", "b")
	for _, i := range of {
		spec := announced(i, size)
		s.Sets = append(s.Sets, spec)
		s.Policies = append(s.Policies, admit(string(spec.ID), "db", spec.ID, 80))
	}
	return s
}

// TestAnAnnouncedSetIsWrittenInParts brings a set of a thousand prefixes into force. No plan has more than the part that a snapshot adds, and
// that of the policy has the last one.
func TestAnAnnouncedSetIsWrittenInParts(t *testing.T) {
	const size, part = 120, 30
	r := newRig(t, "ovn-kubernetes")
	snap := backendtest.Advance(intent.NewSnapshot(), blocked(size))
	r.reconcile(t, snap)
	for n := part; n < size; n += part {
		snap = announcing(snap, blocked(size), map[int]int{0: n}, size)
		p := r.reconcile(t, snap)
		require.False(t, p.Full)
		require.LessOrEqual(t, mostValues(p), part)
		require.Len(t, r.addresses(t, announced(0, size).ID), n)
		r.requireSettled(t, snap)
	}
	snap = announcing(snap, blocked(size, 0), nil, size)
	p := r.reconcile(t, snap)
	require.LessOrEqual(t, mostValues(p), part+size/3, "the last part, and the other family")
	require.Len(t, r.addresses(t, announced(0, size).ID), size+size/3)
	r.requireSettled(t, snap)
}

// mostValues is the most elements of a set that an operation of a plan writes.
func mostValues(p *backends.Plan) int {
	n := 0
	for i := range p.Ops {
		for _, v := range p.Ops[i].After {
			list, _ := v.([]string)
			n = max(n, len(list))
		}
	}
	return n
}

// TestAnnouncedSetsComeAndGo walks at random through what is announced and what policies refer to. Whatever the order, plans from changes
// lead to what a read-back wants.
func TestAnnouncedSetsComeAndGo(t *testing.T) {
	seeds.Each(t, "ahead", func(t *testing.T, seed uint64) { walkAnnounced(t, rand.New(rand.NewPCG(seed, 3))) })
}

func walkAnnounced(t *testing.T, rng *rand.Rand) {
	t.Helper()
	const size = 12
	r := newRig(t, "ovn-kubernetes")
	snap := backendtest.Advance(intent.NewSnapshot(), blocked(size))
	r.reconcile(t, snap)
	for range 100 {
		var of []int
		ready := map[int]int{}
		for i := range 4 {
			if rng.IntN(3) == 0 {
				of = append(of, i)
			}
			if rng.IntN(2) == 0 {
				ready[i] = rng.IntN(2*size + 1)
			}
		}
		snap = announcing(snap, blocked(size, of...), ready, size)
		p := r.reconcile(t, snap)
		require.False(t, p.Full)
		for i := range 4 {
			spec := announced(i, size)
			want := 0
			if n, some := ready[i]; some {
				want = min(n, size) // those of IPv6 are in the match
			}
			if slices.Contains(of, i) {
				want = size + len(spec.Keys)
			}
			require.Len(t, r.addresses(t, spec.ID), want, "%v %v", of, ready)
		}
		if rng.IntN(4) == 0 {
			r.requireSettled(t, snap)
		}
	}
	r.requireSettled(t, snap)
}
