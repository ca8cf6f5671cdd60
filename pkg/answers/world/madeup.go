package world

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// The lengths of the shortest prefixes that hold single machines rather than the pods of a cluster, or those of one of its nodes.
const (
	hostBitsIPv4 = 25
	hostBitsIPv6 = 65
)

// podNetworks are the networks in which the pods of clusters usually are (RFC 1918 and RFC 4193), by family.
func podNetworks(is4 bool) []netip.Prefix {
	if is4 {
		return []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}
	}
	return []netip.Prefix{netip.MustParsePrefix("fc00::/7")}
}

// sharedNetwork has the pods of some clusters too (RFC 6598). Blocks that except the private networks seldom except it.
func sharedNetwork() netip.Prefix { return netip.MustParsePrefix("100.64.0.0/10") }

// BlockDepends reports whether the blocks of a set may or may not hold pods, according to what addresses a cluster gives them: the set has a
// part of the networks that pods are usually in. It does not depend if it has all of these, like the whole world, or none, like the world
// outside; nor by what it says about single machines, unless made up addresses are among them.
func BlockDepends(set *intent.Set, is4 bool, madeUp ...netip.Addr) bool {
	if set == nil || len(set.Prefixes) == 0 {
		return false
	}
	all, none, shared := true, true, sharedNetwork()
	for _, block := range set.Prefixes {
		if is4 && shared.Overlaps(block) && block.Bits() >= shared.Bits() && !isHosts(block) {
			return true
		}
		if isHosts(block) && slices.ContainsFunc(madeUp, block.Contains) {
			return true
		}
	}
	for _, network := range podNetworks(is4) {
		inside := 0.0 // the share of the network that the set has
		for _, block := range set.Prefixes {
			switch {
			case !network.Overlaps(block):
			case block.Bits() <= network.Bits():
				inside = 1
			default:
				inside += share(block, network)
				none = none && isHosts(block)
			}
		}
		if inside == 1 {
			none = false
		}
		all = all && inside >= 1-hostShare(network)
	}
	return !all && !none
}

func isHosts(p netip.Prefix) bool {
	return p.Addr().Is4() && p.Bits() >= hostBitsIPv4 || p.Addr().Is6() && p.Bits() >= hostBitsIPv6
}

// share is how much of a network a prefix in it has.
func share(p, network netip.Prefix) float64 {
	out := 1.0
	for range p.Bits() - network.Bits() {
		out /= 2
	}
	return out
}

// maxHosts is how many blocks of single machines a set may leave out of a network and still count as having all of it.
const maxHosts = 8

func hostShare(network netip.Prefix) float64 {
	bits := hostBitsIPv4
	if network.Addr().Is6() {
		bits = hostBitsIPv6
	}
	return maxHosts * share(netip.PrefixFrom(network.Addr(), bits), network)
}
