package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
)

// Addresses makes up addresses. The zero value has made up none. A name gets the same address in every input, unless two names collide:
// states that are compared agree on the addresses.
type Addresses struct {
	Taken  func(netip.Addr) bool // reports addresses that belong to something real; nil means none
	madeUp map[netip.Addr]bool
}

// The ranges lie where those of most clusters do, in a private network, because policies tell the world from it: 0.0.0.0/0 except 10.0.0.0/8.
const (
	range4 = 10<<24 | 128<<16 // 10.128.0.0/9
	size4  = 1 << 23
)

// Addr makes up an address of a family for a name.
func (a *Addresses) Addr(name string, is4 bool) netip.Addr {
	sum := sha256.Sum256([]byte(name))
	for seed := binary.BigEndian.Uint64(sum[:8]); ; seed++ {
		addr := at(seed, is4)
		if a.madeUp[addr] || a.Taken != nil && a.Taken(addr) {
			continue
		}
		if a.madeUp == nil {
			a.madeUp = map[netip.Addr]bool{}
		}
		a.madeUp[addr] = true
		return addr
	}
}

func at(seed uint64, is4 bool) netip.Addr {
	if is4 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(range4+seed%size4))
		return netip.AddrFrom4(b)
	}
	b := [16]byte{0: 0xfd, 1: 0x6e, 2: 0x6c} // a unique local address
	binary.BigEndian.PutUint64(b[8:], seed)
	return netip.AddrFrom16(b)
}

// MadeUp reports whether an address was made up.
func (a *Addresses) MadeUp(addr netip.Addr) bool { return a.madeUp[addr] }

// All lists the made-up addresses, in any order.
func (a *Addresses) All() []netip.Addr { return slices.Collect(maps.Keys(a.madeUp)) }

// Len is how many were made up.
func (a *Addresses) Len() int { return len(a.madeUp) }
