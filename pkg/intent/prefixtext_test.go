package intent_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func TestPrefixText(t *testing.T) {
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	without := intent.SubtractPrefixes(netip.MustParsePrefix("0.0.0.0/0"), prefixes("10.0.0.0/8", "192.168.0.0/16"))
	for _, tc := range []struct {
		name, want string
		list       []netip.Prefix
	}{
		{"none", "", nil},
		{"both families", "10.0.0.0/8, fd00::/8", prefixes("10.0.0.0/8", "fd00::/8")},
		{"everything", "0.0.0.0/0", prefixes("0.0.0.0/0")},
		{"all but a few", "0.0.0.0/0 except 10.0.0.0/8, 192.168.0.0/16, fd00::/8", append(without, prefixes("fd00::/8")...)},
		{
			"many", "1.0.0.0/32, 1.0.0.2/32, 1.0.0.4/32, 1.0.0.6/32, 1.0.0.8/32, 1.0.0.10/32, 1.0.0.12/32, 1.0.0.14/32, … (1 more)",
			prefixes("1.0.0.0/32", "1.0.0.2/32", "1.0.0.4/32", "1.0.0.6/32", "1.0.0.8/32", "1.0.0.10/32", "1.0.0.12/32", "1.0.0.14/32", "1.0.0.16/32"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, intent.PrefixText(tc.list)) })
	}
}
