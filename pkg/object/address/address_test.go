package address

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePrefix(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a block", "10.0.0.0/8", "10.0.0.0/8"},
		{"host bits are masked off", "10.1.2.3/8", "10.0.0.0/8"},
		{"a single address", "10.1.2.3/32", "10.1.2.3/32"},
		{"everything", "0.0.0.0/0", "0.0.0.0/0"},
		{"IPv6", "2001:DB8::1/32", "2001:db8::/32"},
		{"everything of IPv6", "::/0", "::/0"},
		{"leading zeros are decimal", "010.08.0.0/16", "10.8.0.0/16"},
		{"leading zeros of the length", "10.0.0.0/08", "10.0.0.0/8"},
		{"a mapped block is IPv4", "::ffff:10.0.0.0/104", "10.0.0.0/8"},
		{"the whole mapped space is all of IPv4", "::ffff:0:0/96", "0.0.0.0/0"},
		{"a block around the mapped space is IPv6", "::ffff:0:0/95", "::fffe:0:0/95"},
		{"no length", "10.0.0.0", ""},
		{"too long", "10.0.0.0/33", ""},
		{"a negative length", "10.0.0.0/-1", ""},
		{"an octet too large", "10.0.0.256/8", ""},
		{"three octets", "10.0.0/8", ""},
		{"a zone", "fe80::%eth0/64", ""},
		{"space", " 10.0.0.0/8", ""},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := ParsePrefix(tc.in)
			if tc.want == "" {
				require.ErrorContains(t, err, "is not a CIDR")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, p.String())
		})
	}
}
