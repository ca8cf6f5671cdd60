package nbtrace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

func TestParseSpellsCanonically(t *testing.T) {
	for _, tc := range []struct{ name, match, want string }{
		{"a drop", `outport == @pg && ip`, `outport == @pg && ip`},
		{"an allow with a set", `outport==@pg&&ip4.src==$as&&tcp`, `outport == @pg && ip4.src == $as && tcp`},
		{
			"ports and ranges", `tcp && (tcp.dst=={80,443} || 1000<=tcp.dst<=2000)`,
			`tcp && (tcp.dst == {80, 443} || (tcp.dst >= 1000 && tcp.dst <= 2000))`,
		},
		{"a range downwards", `2000 > udp.dst >= 1000`, `udp.dst < 2000 && udp.dst >= 1000`},
		{"commas may be left out", `tcp.dst == {80 443}`, `tcp.dst == {80, 443}`},
		{"a comma may end a set", `tcp.dst == {80,}`, `tcp.dst == 80`},
		{"constant first", `80 == tcp.dst`, `tcp.dst == 80`},
		{"hexadecimal", `eth.type == 0x806`, `eth.type == 2054`},
		{"host bits are cut off", `ip4.src == 10.0.0.5/8`, `ip4.src == 10.0.0.0/8`},
		{"a netmask", `ip4.src == 10.0.0.5/255.255.0.0`, `ip4.src == 10.0.0.0/16`},
		{"a full prefix is an address", `ip4.src == 10.0.0.5/32`, `ip4.src == 10.0.0.5`},
		{"IPv6", `ip6.dst == {FD00::0:1, fd00:1::/64, ::1, $as}`, `ip6.dst == {fd00::1, fd00:1::/64, ::1, $as}`},
		{"negation turns comparisons", `!(ip4.src == $as || tcp.dst < 5)`, `ip4.src != $as && tcp.dst >= 5`},
		{"negation of a range", `!(1 < tcp.dst < 9)`, `tcp.dst <= 1 || tcp.dst >= 9`},
		{"two negations", `!(!(tcp && 1))`, `tcp && 1`},
		{"strings", `inport == {"a b", "q\"\\", @g}`, `inport == {"a b", "q\"\\", @g}`},
		{"parentheses that say nothing", `((1))`, `1`},
		{"not true", `!1`, `0`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := nbtrace.Parse(tc.match)
			require.NoError(t, err)
			require.Equal(t, tc.want, e.String())
			again, err := nbtrace.Parse(e.String())
			require.NoError(t, err)
			require.Equal(t, e.String(), again.String())
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, match string
		wantOffset  int
		wantReason  string
	}{
		{"nothing", ``, 0, "field name"},
		{"an unknown field", `ip && foo`, 6, "unknown field foo"},
		{"mixed operators", `ip || tcp && udp`, 10, "parenthesized"},
		{"a comparison behind !", `!tcp.dst == 80`, 0, "parentheses around operand"},
		{"a negated word", `!ip4`, 1, "may not be negated"},
		{"a nominal field and !=", `ip.proto != 6`, 0, "only be tested for equality"},
		{"a port that is not something", `inport != "x"`, 0, "only be tested for equality"},
		{"a missing parenthesis", `(ip && tcp`, 10, "expecting `)'"},
		{"too many", `ip)`, 2, "expecting the end"},
		{"an empty set", `tcp.dst == {}`, 12, "expecting constant"},
		{"a multibit field alone", `tcp.dst`, 7, "relational operator"},
		{"an IPv6 address as IPv4", `ip4.src == fd00::1`, 11, "does not fit"},
		{"an address as port", `tcp.dst == 1.2.3.4`, 11, "does not fit"},
		{"a port too large", `tcp.dst == 65536`, 11, "does not fit"},
		{"a group as address", `ip4.src == @g`, 11, "does not fit"},
		{"a set as port", `outport == $as`, 11, "does not fit"},
		{"a prefix too long", `ip4.src == 10.0.0.0/33`, 11, "does not fit"},
		{"a set with a dash", `ip4.src == $a-b`, 13, "unexpected character"},
		{"a range of unlike relations", `1 < tcp.dst > 5`, 12, "range expressions"},
		{"an order among sets", `tcp.dst < {1, 2}`, 11, "only == and !="},
		{"an open string", `inport == "x`, 10, "string without an end"},
		{"a word compared", `ip == 1`, 3, "word of its own"},
		{"deep nesting", strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), 100, "too deeply"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nbtrace.Parse(tc.match)
			var syntax *nbtrace.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Contains(t, syntax.Reason, tc.wantReason)
			require.Equal(t, tc.wantOffset, syntax.Offset, syntax.Reason)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`outport == @pg && ip`, `ip4.src == {$a, 10.0.0.0/8} && !(tcp.dst == 80)`, `1000 <= tcp.dst <= 2000`,
		`inport == {"a\"b", @c}`, `!(1 || 0)`, `(nd || nd_rs) && icmp6.type == 0x86`, `ip6.dst == ::/0`, `{1 2} == sctp.src`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := nbtrace.Parse(s)
		if err != nil {
			var syntax *nbtrace.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.LessOrEqual(t, syntax.Offset, len(s))
			return
		}
		again, err := nbtrace.Parse(e.String())
		require.NoError(t, err, e.String())
		require.Equal(t, e.String(), again.String())
	})
}
