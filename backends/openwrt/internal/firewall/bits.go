package firewall

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// markMask holds the bits for policies. It does not overlap with the bits of mwan3 (0x3F00) and the usual marks of ipsec.
const markMask uint32 = 0x1F000000

// markBits are the bits of a packet's mark, by direction where it matters.
type markBits struct {
	isolated, allowed [2]uint32
	denied            uint32
}

// markBitsIn takes the five lowest bits of a mask, which must have at least five.
func markBitsIn(mask uint32) markBits {
	next := func() uint32 {
		bit := uint32(1) << bits.TrailingZeros32(mask)
		mask &^= bit
		return bit
	}
	var b markBits
	for _, d := range intent.Directions() {
		b.isolated[d], b.allowed[d] = next(), next()
	}
	b.denied = next()
	return b
}

// isolates reports whether a rule marks packets as isolated or denied.
func (b markBits) isolates(r openwrt.FirewallRule) bool {
	closing := append(b.isolated[:], b.denied)
	return slices.ContainsFunc(closing, func(bit uint32) bool { return r.SetXMark == settingBit(bit) })
}

// settingBit formats a bit that is set in the mark of packets.
func settingBit(bit uint32) string { return fmt.Sprintf("%#x/%#x", bit, bit) }

// guard returns, as arguments of iptables, the condition that a packet is allowed in every direction in which it is isolated,
// and is not denied.
func (b markBits) guard() string {
	words := []string{fmt.Sprintf("-m mark ! --mark %#x/%#x", b.denied, b.denied)}
	for _, d := range intent.Directions() {
		words = append(words, fmt.Sprintf("-m mark ! --mark %#x/%#x", b.isolated[d], b.isolated[d]|b.allowed[d]))
	}
	return strings.Join(words, " ")
}

// Guarded returns a rule that a person wants. If it accepts packets between zones, it is made to accept only what
// policies allow, because it may come before the rules of policies. It is for devices that have such rules.
func Guarded(r openwrt.FirewallRule) openwrt.FirewallRule {
	if r.Target == "ACCEPT" && r.Src != "" && r.Dest != "" {
		r.Extra = strings.TrimSpace(r.Extra + " " + markBitsIn(markMask).guard())
	}
	return r
}
