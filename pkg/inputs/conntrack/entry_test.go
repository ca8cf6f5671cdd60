package conntrack_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/conntrack"
)

const tcp = "tcp,orig=(src=10.0.0.1,dst=10.96.0.10,sport=41230,dport=80),reply=(src=10.0.0.2,dst=10.0.0.1,sport=8080,dport=41230),zone=5,mark=2,protoinfo=(state=ESTABLISHED)"

func TestLines(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for _, tc := range []struct {
		name, line string
		want       conntrack.Connection
	}{
		{"a backend of a Service", tcp, conntrack.Connection{Protocol: "tcp", Src: a, Dst: b, SrcPort: 41230, Port: 8080}},
		{"an ended one", strings.Replace(tcp, "ESTABLISHED", "TIME_WAIT", 1), conntrack.Connection{}},
		{"one without a state", strings.Replace(tcp, ",protoinfo=(state=ESTABLISHED)", "", 1), conntrack.Connection{}},
		{
			"UDP over IPv6", "udp,orig=(src=fd00::1,dst=fd00::2,sport=5,dport=53),reply=(src=fd00::2,dst=fd00::1,sport=53,dport=5),zone=7",
			conntrack.Connection{Protocol: "udp", Src: netip.MustParseAddr("fd00::1"), Dst: netip.MustParseAddr("fd00::2"), SrcPort: 5, Port: 53},
		},
		{
			"ICMP", "icmp,orig=(src=10.0.0.1,dst=10.0.0.2,id=7,type=8,code=0),reply=(src=10.0.0.2,dst=10.0.0.1,id=7,type=0,code=0)",
			conntrack.Connection{Protocol: "icmp", Src: a, Dst: b},
		},
		{"another protocol", strings.Replace(tcp, "tcp", "gre", 1), conntrack.Connection{}},
		{"a port that is none", strings.Replace(tcp, "sport=8080", "sport=80800", 1), conntrack.Connection{}},
		{"two families", strings.Replace(tcp, "src=10.0.0.2", "src=fd00::2", 1), conntrack.Connection{}},
		{"a torn line", tcp[:60], conntrack.Connection{}},
		{"nothing", "", conntrack.Connection{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := conntrack.Parse(tc.line)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want != conntrack.Connection{}, ok)
		})
	}
}

// TestEachConnectionCountsOnce: a datapath tracks a connection in a zone for each of its ends.
func TestEachConnectionCountsOnce(t *testing.T) {
	other := strings.ReplaceAll(tcp, "41230", "41231")
	all, more, err := conntrack.Read(strings.NewReader(fmt.Sprintf("%s\n%s\nnonsense\n%s\n", tcp, strings.Replace(tcp, "zone=5", "zone=6", 1), other)))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Zero(t, more)
	_, _, err = conntrack.Read(strings.NewReader(strings.Repeat("x", 1<<17)))
	require.Error(t, err, "what is no dump is no answer")
}

// FuzzParse: whatever a line is, it does not make the reader fail, and what is found in it has two addresses of one family.
func FuzzParse(f *testing.F) {
	f.Add(tcp)
	f.Fuzz(func(t *testing.T, line string) {
		if c, ok := conntrack.Parse(line); ok {
			require.True(t, c.Src.IsValid() && c.Dst.IsValid() && c.Src.Is4() == c.Dst.Is4())
		}
	})
}
