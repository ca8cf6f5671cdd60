package reach_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/seeds"
)

// rolesAmong lets some pods exist in one state only, and others stand for one another in the first.
func rolesAmong(places []reach.Place) map[reach.Place]*reach.Roles {
	roles := map[reach.Place]*reach.Roles{}
	for i, p := range places {
		if p.Standing.IsValid() {
			continue
		}
		is := reach.Role{Party: p.Party, Exists: true}
		switch i % 5 {
		case 0:
			roles[p] = &reach.Roles{In: [2]reach.Role{{}, is}, Apart: true}
		case 1:
			roles[p] = &reach.Roles{In: [2]reach.Role{is, {}}, Apart: true}
		case 2:
			other := places[(i+7)%len(places)]
			if !other.Standing.IsValid() && other.Party.Addr.Is4() == p.Party.Addr.Is4() {
				roles[p] = &reach.Roles{In: [2]reach.Role{{Party: other.Party, Exists: true}, is}}
			}
		}
	}
	return roles
}

// TestImpactWithRoles compares with what the oracle says of what stands for each place before and after a change.
func TestImpactWithRoles(t *testing.T) {
	apart := 0
	seeds.Each(t, "roles", func(t *testing.T, seed uint64) {
		c, changedTo, before, after, places, rng := edited(t, seed)
		roles := rolesAmong(places)
		in := func(n int, p reach.Place) (oracle.End, bool) {
			r := reach.Role{Party: p.Party, Exists: true}
			if as := roles[p]; as != nil {
				r = as.In[n]
			}
			return endOf(reach.Place{Party: r.Party, Standing: p.Standing}), r.Exists
		}
		judges := []*oracle.Frozen{c.Freeze(), changedTo.Freeze()}
		opened, closed := map[pair]reach.Traffic{}, map[pair]reach.Traffic{}
		for _, change := range reach.Impact(before, after, places, roles) {
			for _, classes := range [][]*reach.Class{change.From, change.To} {
				for _, class := range classes {
					for _, p := range class.Places {
						require.Equal(t, isApart(roles, class.Places[0]), isApart(roles, p), "seed %d: a class is apart and is not", seed)
					}
				}
			}
			for from, to := range change.Pairs() {
				opened[pair{from, to}], closed[pair{from, to}] = change.Opened, change.Closed
				if isApart(roles, from) {
					apart++
				}
			}
		}
		for range 1000 {
			src, dst := places[rng.IntN(len(places))], places[rng.IntN(len(places))]
			if src == dst || src.Party.Addr.Is4() != dst.Party.Addr.Is4() || src.Standing.IsValid() && dst.Standing.IsValid() {
				continue
			}
			port := ports()[rng.IntN(len(ports()))]
			proto := []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP}[rng.IntN(3)]
			var passes [2]bool
			self := false
			for n := range passes {
				from, sends := in(n, src)
				to, receives := in(n, dst)
				f := oracle.Flow{Src: from, Dst: to, Protocol: corev1.Protocol(strings.ToUpper(proto.String())), Port: int32(port)}
				passes[n] = sends && receives && judges[n].Allowed(f).Allowed
				self = self || sends && receives && from.Addr == to.Addr
			}
			if self {
				continue // one that stands for the other
			}
			require.Equal(t, !passes[0] && passes[1], opened[pair{src, dst}].Has(proto, port), "seed %d: %v -> %v %d opens", seed, src, dst, port)
			require.Equal(t, passes[0] && !passes[1], closed[pair{src, dst}].Has(proto, port), "seed %d: %v -> %v %d closes", seed, src, dst, port)
		}
	})
	if seeds.All() {
		require.Greater(t, apart, 1000, "few pods of one state have connections: the test shows little")
	}
}

func isApart(roles map[reach.Place]*reach.Roles, p reach.Place) bool {
	return roles[p] != nil && roles[p].Apart
}
