package precedence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/precedence"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestPruner(t *testing.T) {
	named := func(name string, subject intent.SetID, rules ...string) *intent.Policy {
		return policy(name, intent.TierNetworkPolicy, 0, subject, rules...)
	}
	ref := func(name string) object.Ref {
		return object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: name}
	}
	onCNF := named("m", "web", "allow lan 80")
	onCNF.CNFs.Purpose = "edge"
	for _, tc := range []struct {
		name     string
		policies []*intent.Policy
		want     []object.Ref
	}{
		{"more pods, more peers", []*intent.Policy{named("m", "web", "allow low 80"), named("a", "all", "allow lan any")}, []object.Ref{ref("a")}},
		{"fewer pods", []*intent.Policy{named("m", "all", "allow low 80"), named("a", "web", "allow lan any")}, nil},
		{"it alone isolates some pods", []*intent.Policy{named("m", "all"), named("a", "web", "allow any any")}, nil},
		{"isolation by one, rules by another", []*intent.Policy{
			named("m", "web", "allow low 80"), named("a", "all"), named("b", "all", "allow lan any"),
		}, []object.Ref{ref("a"), ref("b")}},
		{"two blocks together", []*intent.Policy{named("m", "web", "allow lan 80"), named("a", "all", "allow low any", "allow high 80")}, []object.Ref{ref("a")}},
		{"a block is left", []*intent.Policy{named("m", "web", "allow lan 80"), named("a", "all", "allow low any", "allow high 81")}, nil},
		{"no pods", []*intent.Policy{named("m", "none", "allow lan 80"), named("a", "all", "allow any any")}, nil},
		{"a rule without peers", []*intent.Policy{named("m", "web", "allow none 80"), named("a", "all", "allow any any")}, nil},
		{"it is in force on a CNF too", []*intent.Policy{onCNF, named("a", "all", "allow any any")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := precedence.NewPruner(shop(tc.policies...), precedence.Budget)
			by, redundant := p.Policy(ref("m"), []object.Ref{ref("a"), ref("b"), ref("x")})
			require.Equal(t, tc.want != nil, redundant)
			require.Equal(t, tc.want, by)
			if redundant {
				_, other := p.Policy(ref("a"), []object.Ref{ref("m")})
				require.False(t, other, "what replaces it is needed now")
			}
			empty := precedence.NewPruner(shop(tc.policies...), 0)
			_, redundant = empty.Policy(ref("m"), []object.Ref{ref("a"), ref("b")})
			require.False(t, redundant, "nothing is compared without a budget")
			require.True(t, tc.want == nil || empty.Exhausted())
		})
	}
}
