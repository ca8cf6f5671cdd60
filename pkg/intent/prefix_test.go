package intent

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubtract(t *testing.T) {
	for _, tc := range []struct {
		name, block   string
		excepts, want []string
	}{
		{"nothing", "10.0.0.0/8", nil, []string{"10.0.0.0/8"}},
		{"one half", "10.0.0.0/8", []string{"10.128.0.0/9"}, []string{"10.0.0.0/9"}},
		{"all of it", "10.0.0.0/8", []string{"10.0.0.0/8"}, nil},
		{"more than it", "10.0.0.0/8", []string{"0.0.0.0/0"}, nil},
		{"both halves", "10.0.0.0/8", []string{"10.128.0.0/9", "10.0.0.0/9"}, nil},
		{"nested and twice", "10.0.0.0/30", []string{"10.0.0.0/31", "10.0.0.1/32", "10.0.0.0/31"}, []string{"10.0.0.2/31"}},
		{"outside", "10.0.0.0/8", []string{"11.0.0.0/8"}, []string{"10.0.0.0/8"}},
		{"the other family", "10.0.0.0/8", []string{"::/0"}, []string{"10.0.0.0/8"}},
		{"an address of an address", "10.0.0.1/32", []string{"10.0.0.1/32"}, nil},
		{"the last address", "fd00::/126", []string{"fd00::3/128"}, []string{"fd00::/127", "fd00::2/128"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []netip.Prefix
			for _, s := range tc.want {
				want = append(want, netip.MustParsePrefix(s))
			}
			var excepts []netip.Prefix
			for _, s := range tc.excepts {
				excepts = append(excepts, netip.MustParsePrefix(s))
			}
			require.Equal(t, want, SubtractPrefixes(netip.MustParsePrefix(tc.block), excepts))
		})
	}
}

// prefixesFrom reads five bytes for each prefix: four of an address, one of the length. The space is kept small, or
// random prefixes would hardly ever meet.
func prefixesFrom(data []byte) []netip.Prefix {
	var out []netip.Prefix
	for ; len(data) >= 5; data = data[5:] {
		bits := int(data[4] % 33)
		a := netip.AddrFrom4([4]byte{10, data[1] & 1, data[2] & 3, data[3]})
		if data[0]%4 == 0 {
			a, bits = netip.AddrFrom16([16]byte{0xfd, 15: data[3]}), 96+bits
		}
		out = append(out, netip.PrefixFrom(a, bits).Masked())
	}
	return out
}

func holds(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// edges are the first and last addresses of every prefix, and their neighbours: where a mistake would show.
func edges(list []netip.Prefix) []netip.Addr {
	var out []netip.Addr
	for _, p := range list {
		raw := p.Addr().AsSlice()
		for bit := p.Bits(); bit < len(raw)*8; bit++ {
			raw[bit/8] |= 0x80 >> (bit % 8)
		}
		last, _ := netip.AddrFromSlice(raw)
		for _, a := range []netip.Addr{p.Addr(), p.Addr().Prev(), last, last.Next()} {
			if a.IsValid() {
				out = append(out, a)
			}
		}
	}
	return out
}

// requireCanonical holds a list to its one spelling: sorted, masked, disjoint, and no two that are halves of one.
func requireCanonical(t *testing.T, list []netip.Prefix) {
	t.Helper()
	for i, p := range list {
		require.Equal(t, p.Masked(), p)
		for _, q := range list[i+1:] {
			require.Negative(t, p.Addr().Compare(q.Addr()))
			require.False(t, p.Overlaps(q), "%v and %v", p, q)
			_, ok := join(p, q)
			require.False(t, ok, "%v and %v are one", p, q)
		}
	}
}

func addPrefixes(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 8, 1, 0, 0, 0, 9, 1, 1, 0, 0, 16})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 255, 32})
	f.Add(binary.BigEndian.AppendUint64(nil, 0x0100000020010000))
}

func FuzzSubtract(f *testing.F) {
	addPrefixes(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		all := prefixesFrom(data[:min(len(data), 60)])
		if len(all) == 0 {
			return
		}
		block, excepts := all[0], all[1:]
		rest := SubtractPrefixes(block, excepts)
		for _, a := range edges(append(slices.Clone(all), rest...)) {
			require.Equal(t, block.Contains(a) && !holds(excepts, a), holds(rest, a), "%v of %v without %v", a, block, excepts)
		}
		for i, p := range rest {
			for _, q := range rest[i+1:] {
				require.False(t, p.Overlaps(q), "%v and %v", p, q)
			}
		}
		requireCanonical(t, MergePrefixes(rest))
	})
}

func FuzzMergePrefixes(f *testing.F) {
	addPrefixes(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		list := prefixesFrom(data[:min(len(data), 100)])
		given := slices.Clone(list)
		merged := MergePrefixes(list)
		require.Equal(t, given, list, "the argument is left alone")
		requireCanonical(t, merged)
		require.Equal(t, merged, MergePrefixes(merged), "idempotent")
		for _, a := range edges(append(slices.Clone(list), merged...)) {
			require.Equal(t, holds(list, a), holds(merged, a), "%v of %v", a, list)
		}
		rng := rand.New(rand.NewPCG(uint64(len(data)), 1))
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Equal(t, merged, MergePrefixes(list), "the order shows")
	})
}
