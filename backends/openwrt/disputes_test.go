package openwrt_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// TestRulesBetweenInterfacesThatDisagree are in force and reported, if a packet can match both: which applies depends on the replica.
func TestRulesBetweenInterfacesThatDisagree(t *testing.T) {
	net0, net1 := intent.Link{Name: "net0"}, intent.Link{Name: "net1"}
	ten := netip.MustParsePrefix("10.5.0.0/16")
	web := intent.Match{Protocol: "tcp", DstPort: 80}
	first := &intent.LinkRule{From: net0, To: net1, Decides: intent.Drop, Match: web}
	for name, c := range map[string]struct {
		rule     intent.LinkRule
		disputed bool
	}{
		"the same packets":           {intent.LinkRule{From: net0, To: net1, Decides: intent.Accept, Match: web}, true},
		"all of them":                {intent.LinkRule{From: net0, To: net1, Decides: intent.Accept}, true},
		"some of them":               {intent.LinkRule{From: net0, To: net1, Decides: intent.Accept, Match: intent.Match{Src: ten}}, true},
		"some other interface":       {intent.LinkRule{From: net0, To: intent.Link{Default: true}, Decides: intent.Accept}, true},
		"a protocol of two":          {intent.LinkRule{From: net0, To: net1, Decides: intent.Reject, Match: intent.Match{Protocol: "tcpudp"}}, true},
		"the same decision":          {intent.LinkRule{From: net0, To: net1, Decides: intent.Drop}, false},
		"another port":               {intent.LinkRule{From: net0, To: net1, Decides: intent.Accept, Match: intent.Match{Protocol: "tcp", DstPort: 81}}, false},
		"another protocol":           {intent.LinkRule{From: net0, To: net1, Decides: intent.Accept, Match: intent.Match{Protocol: "udp"}}, false},
		"another interface":          {intent.LinkRule{From: net1, To: net0, Decides: intent.Accept, Match: web}, false},
		"packets to the CNF":         {intent.LinkRule{From: net0, Decides: intent.Accept, Match: web}, false},
		"a mark, in another chain":   {intent.LinkRule{From: net0, Decides: intent.Mark, SetMark: "0x1", Match: web}, false},
		"another type of ICMP, none": {intent.LinkRule{From: net0, To: net1, Decides: intent.Accept, Match: intent.Match{Protocol: "icmp", ICMPTypes: []string{"any"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a, b := of("NetworkFirewallRule", "a", first), of("NetworkFirewallRule", "b", &c.rule)
			r.put(a, b)
			p := r.reconcile(t)
			all, err := r.client.List(t.Context(), openwrt.NetworkRules)
			require.NoError(t, err)
			require.Len(t, all, 2, "both are written")
			if !c.disputed {
				require.Empty(t, p.Skips)
				return
			}
			require.Len(t, p.Skips, 2)
			require.Contains(t, skipOf(p, a), string(b.ID)+" matches some of the same packets")
			require.Contains(t, skipOf(p, b), string(a.ID)+" matches some of the same packets")
			require.True(t, p.Skips[0].InEffect && p.Skips[1].InEffect)
			r.drop(a)
			require.Empty(t, r.reconcile(t).Skips)
		})
	}
}

// TestManyRulesBetweenInterfaces are compared up to a bound, and those beyond it are named.
func TestManyRulesBetweenInterfaces(t *testing.T) {
	r := newRig(t)
	for i := range 600 {
		decides := intent.Accept
		if i%2 == 0 {
			decides = intent.Drop
		}
		r.put(of("NetworkFirewallRule", fmt.Sprintf("r-%03d", i), &intent.LinkRule{
			From: intent.Link{Name: "net0"}, Decides: decides, Match: intent.Match{Protocol: "tcp", DstPort: uint16(i + 1)},
		}))
	}
	p := r.reconcile(t)
	require.NotEmpty(t, p.Skips)
	require.Less(t, len(p.Skips), 100)
	for _, s := range p.Skips {
		require.Contains(t, s.Reason, "too many rules between interfaces")
	}
}
