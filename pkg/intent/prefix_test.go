package intent

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/seeds"
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

func inAny(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// boundaries are the first and last addresses of every prefix, and their neighbours: where a mistake would show.
func boundaries(list []netip.Prefix) []netip.Addr {
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

// requireCanonical requires a list in canonical form: sorted, masked, disjoint, and no two that are halves of one.
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
		for _, a := range boundaries(append(slices.Clone(all), rest...)) {
			require.Equal(t, block.Contains(a) && !inAny(excepts, a), inAny(rest, a), "%v of %v without %v", a, block, excepts)
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
		for _, a := range boundaries(append(slices.Clone(list), merged...)) {
			require.Equal(t, inAny(list, a), inAny(merged, a), "%v of %v", a, list)
		}
		rng := rand.New(rand.NewPCG(uint64(len(data)), 1))
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Equal(t, merged, MergePrefixes(list), "the order shows")
	})
}

// subtractByHalving is SubtractPrefixes as its definition reads: split the block until each part is free of excepts or
// inside one. It looks at every except for each part.
func subtractByHalving(block netip.Prefix, excepts []netip.Prefix) []netip.Prefix {
	inside := false
	for _, e := range excepts {
		if !e.Overlaps(block) {
			continue
		}
		if e.Bits() <= block.Bits() {
			return nil
		}
		inside = true
	}
	if !inside {
		return []netip.Prefix{block}
	}
	low, high := halves(block)
	return append(subtractByHalving(low, excepts), subtractByHalving(high, excepts)...)
}

func TestSubtractionIsThatByHalving(t *testing.T) {
	seeds.Each(t, "prefixes", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		for range 2000 {
			data := make([]byte, 5*(1+rng.IntN(40)))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			all := prefixesFrom(data)
			block, excepts := all[0], all[1:]
			if rng.IntN(2) == 0 { // wide, or most excepts lie outside
				block = netip.PrefixFrom(block.Addr(), block.Bits()%9).Masked()
			}
			want := subtractByHalving(block, excepts)
			require.Equal(t, want, SubtractPrefixes(block, excepts), "%v without %v", block, excepts)
			exact, fits := SubtractAtMost(block, excepts, len(want))
			require.True(t, fits)
			require.Equal(t, want, exact)
			if len(want) > 0 {
				_, fits = SubtractAtMost(block, excepts, len(want)-1)
				require.False(t, fits, "%v without %v is %d prefixes", block, excepts, len(want))
			}
		}
	})
}

// scattered is n single addresses with no neighbours among them: the costliest excepts there are.
func scattered(n int, v6 bool) []netip.Prefix {
	out := make([]netip.Prefix, n)
	for i := range out {
		h := uint32(i) * 2654435761
		var a netip.Addr
		if v6 {
			a = netip.AddrFrom16([16]byte{byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h), 15: 1})
		} else {
			a = netip.AddrFrom4([4]byte{byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h)})
		}
		out[i] = netip.PrefixFrom(a, a.BitLen())
	}
	return out
}

func TestSubtractionGrowsWithItsExcepts(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		block := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if v6 {
			block = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		growth.NearlyLinear(t, 500, func(n int) func() {
			excepts := scattered(n, v6)
			return func() { SubtractPrefixes(block, excepts) }
		})
		growth.NearlyLinear(t, 5000, func(n int) func() {
			excepts := scattered(n, v6)
			return func() {
				_, fits := SubtractAtMost(block, excepts, 100)
				require.False(t, fits)
			}
		})
	}
}

func BenchmarkSubtract(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		block := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if v6 {
			block = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		for _, n := range []int{1000, 10000, 20000} {
			excepts := scattered(n, v6)
			b.Run(fmt.Sprintf("bits=%d/excepts=%d", block.Addr().BitLen(), n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					SubtractPrefixes(block, excepts)
				}
			})
		}
	}
}
