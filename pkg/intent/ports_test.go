package intent

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func TestMergePorts(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []PortRange
	}{
		{"nothing", nil, nil},
		{"neighbours become one", []PortRange{{TCP, 81, 90}, {TCP, 80, 80}}, []PortRange{{TCP, 80, 90}}},
		{"a gap stays", []PortRange{{TCP, 82, 90}, {TCP, 80, 80}}, []PortRange{{TCP, 80, 80}, {TCP, 82, 90}}},
		{"one inside another", []PortRange{{TCP, 1, 100}, {TCP, 50, 60}, {TCP, 101, 101}}, []PortRange{{TCP, 1, 101}}},
		{"protocols are apart", []PortRange{{UDP, 53, 53}, {TCP, 53, 53}}, []PortRange{{TCP, 53, 53}, {UDP, 53, 53}}},
		{"the last port", []PortRange{{TCP, 65535, 65535}, {TCP, 0, 65535}, {UDP, 0, 0}}, []PortRange{{TCP, 0, 65535}, {UDP, 0, 0}}},
		{"twice", []PortRange{{SCTP, 5, 5}, {SCTP, 5, 5}}, []PortRange{{SCTP, 5, 5}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			given := slices.Clone(tc.in)
			require.Equal(t, tc.want, slices.Clip(MergePorts(tc.in)))
			require.Equal(t, given, tc.in, "the argument is left alone")
		})
	}
}

func FuzzMergePorts(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 2, 3, 1, 4, 4})
	f.Add([]byte{0, 255, 255, 0, 0, 255, 0, 254, 254})
	f.Fuzz(func(t *testing.T, data []byte) {
		var list []PortRange
		for ; len(data) >= 3 && len(list) < 40; data = data[3:] {
			first, last := uint16(min(data[1], data[2])), uint16(max(data[1], data[2]))
			if first > 128 { // the far end of the range
				first, last = first+65280, last+65280
			}
			if last >= first {
				list = append(list, PortRange{[]Protocol{TCP, UDP, SCTP}[data[0]%3], first, last})
			}
		}
		merged := MergePorts(list)
		require.Equal(t, merged, MergePorts(merged), "idempotent")
		for i, r := range merged {
			require.LessOrEqual(t, r.First, r.Last)
			if i > 0 && merged[i-1].Protocol == r.Protocol {
				require.Greater(t, int(r.First), int(merged[i-1].Last)+1, "%v and %v touch", merged[i-1], r)
			}
		}
		before, after := Ports{Ranges: list}, Ports{Ranges: merged}
		for _, r := range append(slices.Clone(list), merged...) {
			for _, p := range []uint16{r.First - 1, r.First, r.Last, r.Last + 1} {
				require.Equal(t, before.Has(r.Protocol, p), after.Has(r.Protocol, p), "%v %d", r.Protocol, p)
			}
		}
		rng := rand.New(rand.NewPCG(uint64(len(data)), 1))
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Equal(t, merged, MergePorts(list), "the order shows")
	})
}

func TestPortsStrings(t *testing.T) {
	require.Equal(t, []string{"any"}, Ports{Any: true}.Strings())
	require.Equal(t, []string{"tcp/80", "udp", "sctp/1-65535", "protocol(47)/0"}, Ports{Ranges: []PortRange{
		{TCP, 80, 80}, {UDP, 0, 65535}, {SCTP, 1, 65535}, {47, 0, 0},
	}}.Strings())
	require.Empty(t, Ports{}.Strings())
	require.True(t, Ports{Any: true}.Has(ICMPv6, 0))
}

func TestSeverities(t *testing.T) {
	for s := SeverityNone; s <= SeverityAlert; s++ {
		got, err := ParseSeverity(s.String())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	_, err := ParseSeverity("loud")
	require.ErrorContains(t, err, "expected alert, warning, notice, info or debug")
	require.Equal(t, "severity(9)", Severity(9).String())
	require.Equal(t, "action(9)", Action(9).String())
}

func TestSpelling(t *testing.T) {
	require.Equal(t, "shop/web", object.Key{Namespace: "shop", Name: "web"}.String())
	require.Equal(t, "east/shop/web", object.Key{Cluster: "east", Namespace: "shop", Name: "web"}.String())
	require.Equal(t, "NetworkPolicy/shop/web", Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: "web"}.String())
	require.Equal(t, "east/Node/n1", Origin{Cluster: "east", Kind: "Node", Name: "n1"}.String())
}
