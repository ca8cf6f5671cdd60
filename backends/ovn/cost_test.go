package ovn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlowsOfShapes compares the estimate with counts from a real ovn-controller 23.03: of a port group with 1, 5 and 20
// ports on the chassis.
func TestFlowsOfShapes(t *testing.T) {
	sizes := map[string]int{"as1": 1, "as2": 2, "as10": 10, "as100": 100}
	for _, tc := range []struct {
		match string
		want  [3]int
	}{
		{"outport == @pg && arp", [3]int{2, 10, 40}},
		{"outport == @pg && ip", [3]int{4, 20, 80}},
		{"outport == @pg", [3]int{2, 10, 40}},
		{"outport == @pg && ip4.src == $as1", [3]int{2, 10, 40}},
		{"outport == @pg && ip4.src == $as2", [3]int{4, 16, 46}},
		{"outport == @pg && ip4.src == $as10", [3]int{20, 32, 62}},
		{"outport == @pg && ip4.src == $as100", [3]int{200, 212, 242}},
		{"outport == @pg && ip4.src == $as10 && tcp", [3]int{20, 32, 62}},
		{"outport == @pg && ip4.src == $as10 && tcp.dst == 80", [3]int{20, 32, 62}},
		{"inport == @pg && ip4.dst == $as10 && tcp.dst == 80", [3]int{20, 32, 62}},
		{"outport == @pg && ip4.src == $as1 && tcp.dst == {80, 443}", [3]int{4, 16, 46}},
		{"outport == @pg && ip4.src == $as10 && tcp.dst == {80, 443, 8080}", [3]int{28, 38, 68}},
		{"outport == @pg && ip4.src == $as10 && 1000 <= tcp.dst <= 2000", [3]int{44, 54, 84}},
		{"outport == @pg && ip4.src == $as10 && 8000 <= tcp.dst <= 8100", [3]int{42, 52, 82}},
		{"outport == @pg && ip4.src == $as10 && 30000 <= tcp.dst <= 32767", [3]int{62, 72, 102}},
		{"outport == @pg && ip4.src == $as10 && 1 <= tcp.dst <= 65535", [3]int{54, 64, 94}},
		{"outport == @pg && ip4.src == $as10 && 1024 <= tcp.dst <= 65535", [3]int{54, 64, 94}},
		{"outport == @pg && ip4.src == $as10 && 1024 <= tcp.dst <= 2047", [3]int{62, 72, 102}},
		{"outport == @pg && ip4.src == $as10 && (tcp.dst == 80 || 1000 <= tcp.dst <= 2000)", [3]int{46, 56, 86}},
		{"outport == @pg && ip4.src == $as10 && (tcp.dst == {80, 443} || 1000 <= tcp.dst <= 2000)", [3]int{48, 58, 88}},
		{"outport == @pg && ip4.src == $as1 && 1000 <= tcp.dst <= 2000", [3]int{22, 34, 64}},
		{"outport == @pg && tcp.dst == 80", [3]int{4, 20, 80}},
		{"outport == @pg && tcp.dst == {80, 443}", [3]int{8, 32, 92}},
		{"outport == @pg && tcp", [3]int{4, 20, 80}},
		{"outport == @pg && 1000 <= tcp.dst <= 2000", [3]int{44, 68, 128}},
		{"outport == @pg && ip4.src == 10.0.0.0/8", [3]int{2, 10, 40}},
		{"outport == @pg && ip4.src == {10.0.0.0/8, 172.16.0.0/12} && tcp.dst == 80", [3]int{4, 16, 46}},
		{"outport == @pg && ip6.src == fd00::/8", [3]int{2, 10, 40}},
		{"outport == @pg && ip4.src == $empty && tcp.dst == 80", [3]int{0, 0, 0}},
	} {
		for i, n := range []int{1, 5, 20} {
			require.Equal(t, tc.want[i], aclFlows(tc.match, n, sizes), "%s on %d ports", tc.match, n)
		}
	}
}
