package intent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPassDeniesWhereThereIsNoOrder has a rule that passes in a tier that knows no such action.
func TestPassDeniesWhereThereIsNoOrder(t *testing.T) {
	s := tiered(&Policy{Tier: TierSystem, Rules: []Rule{rule(Pass)}})
	v := s.Evaluate(Flow{
		Src: Party{Key: someone("web", "10.0.0.2").Key, Addr: someone("web", "10.0.0.2").Addrs[0]},
		Dst: Party{Key: someone("db", "10.0.0.1").Key, Addr: someone("db", "10.0.0.1").Addrs[0]}, Protocol: TCP, Port: 80,
	})
	require.False(t, v.Allowed)
	require.Equal(t, TierSystem, v.Ingress.Tier)
	require.Empty(t, v.Ingress.Passed)
}
