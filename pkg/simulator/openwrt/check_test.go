package openwrt

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChecks checks which values the device accepts, oddities included.
func TestChecks(t *testing.T) {
	for _, tc := range []struct {
		name  string
		check check
		yes   []any
		no    []any
		dies  []any
	}{
		{
			"addresses and prefixes", prefix,
			[]any{"1.2.3.4", "255.255.255.255", "0.0.0.0/0", "10.0.0.0/32", "010.1.1.1", "1..2.3.4", "1.2.3.4/", "1.2.3.4/0x10"},
			[]any{"256.1.1.1", "1.2.3", "1.2.3.4.5", "1.2.3.500", "1.2.3.aa", "1.2.3.-4", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/8/8", "fd00::1", "1.2.3.4-1.2.3.9", json.Number("42")},
			[]any{true, []any{}, map[string]any{}},
		},
		{"addresses that may be excluded", textual(isNegatable), []any{"!10.0.0.0/8", "10.0.0.0/8"}, []any{"!!10.0.0.0/8", "!"}, nil},
		{"hardware addresses", textual(isMAC), []any{"00:11:22:aa:BB:ff"}, []any{"00:11:22:aa:bb", "00:11:22:aa:bb:fg", "0:11:22:aa:bb:ff", "+0:11:22:aa:bb:ff"}, nil},
		{
			"ports", above(0),
			[]any{"1", "65536", " 7 ", "0x10", "1e3", "5.0"},
			[]any{"0", "-1", "1a", "1.5", "", "1:2", "1-2", "1_0", json.Number("80"), true},
			nil,
		},
		{"marks", mark, []any{"0x110", "ff", "0xFFFFFFFF", json.Number("5")}, []any{"0x", "xyz", "0x1/0xff", "0x100000000"}, nil},
		{"flags", oneOf("0", "1"), []any{"0", "1"}, []any{"2", json.Number("1"), true}, nil},
		{"types of ICMP", oneOf(icmpTypes()...), []any{"echo-request", "TOS-host-redirect"}, []any{"8", "address-mask-request"}, nil},
		{"ciphers", oneOf(ciphers()...), []any{"aes256gcm128", "camellia192ctr", "null", "chacha20poly1305"}, []any{"aes512", "des"}, nil},
		{"names of zones", zoneName, []any{"abcdefghijk", json.Number("1")}, []any{"abcdefghijkl"}, []any{true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, v := range tc.yes {
				f := tc.check(nil, v)
				require.True(t, f.ok && !f.died, "%v", v)
			}
			for _, v := range tc.no {
				f := tc.check(nil, v)
				require.False(t, f.ok || f.died, "%v", v)
			}
			for _, v := range tc.dies {
				require.True(t, tc.check(nil, v).died, "%v", v)
			}
		})
	}
}

func TestBase64(t *testing.T) {
	require.Equal(t, "abc", unbase64("YWJj"))
	require.Equal(t, "abc", unbase64("-Y\nW-J j"), "other characters are skipped")
	require.Equal(t, "ab", unbase64("YWI="))
	require.Equal(t, "a", unbase64("YQ=="))
	require.Equal(t, "aabc", unbase64("YQ==YWJj"))
	require.Equal(t, "abc", unbase64("YWJjYWI"), "less than four characters are nothing")
	require.Empty(t, unbase64("a"))
}

// TestEncode compares strings with the device's spelling of them.
func TestEncode(t *testing.T) {
	spelled := string(encode(object{"a": "\"\\\n\t\r\x01ä", "b": []string{"x/y"}}))
	require.Equal(t, []string{`{"b":["x\/y"],"a":"\"\\\n\t\r\u0001ä"}`}, []string{spelled}, "byte for byte")
	require.Equal(t, "[null,true,3,\"\xff\"]", string(encode([]any{nil, true, 3, "\xff"})), "bytes stay")
	require.Equal(t, `"a"`, string(encode("a\x00b")))
}
