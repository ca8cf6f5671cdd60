package memory

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Verdict is the verdict of rows on a flow. The zero value denies.
type Verdict struct {
	Allowed bool // it arrives, whichever backend is chosen
	Refused bool // it is rejected at once, because its destination has no backends
	// Backends holds, for each backend that the flow may be sent to, whether it arrives there; nil if it is sent to none.
	Backends map[netip.AddrPort]bool
}

// Verdict judges a flow. It looks only at rows, those of every owner: a flow to a VIP is sent to the backends in its
// entry, and a connection is dropped if an isolation covers one of its ends and no rule of that direction matches.
func (t *Target) Verdict(f intent.Flow) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	vip, found := t.balance(f)
	if !found {
		return Verdict{Allowed: t.passes(f)}
	}
	v := Verdict{Refused: vip == vipRefused}
	for text := range strings.FieldsSeq(strings.TrimPrefix(vip, vipRefused)) {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			continue
		}
		if v.Backends == nil {
			v.Allowed, v.Backends = true, make(map[netip.AddrPort]bool)
		}
		f.Dst, f.Port = intent.Party{Addr: at.Addr()}, at.Port()
		v.Backends[at] = t.passes(f)
		v.Allowed = v.Allowed && v.Backends[at]
	}
	return v
}

// passes reports whether rules admit a flow between two parties.
func (t *Target) passes(f intent.Flow) bool {
	return f.Src.Addr == f.Dst.Addr ||
		t.admits(intent.Egress, f.Src, f.Dst.Addr, f) && t.admits(intent.Ingress, f.Dst, f.Src.Addr, f)
}

// admits applies the tiers to one direction of a flow, in order, until one decides.
func (t *Target) admits(d intent.Direction, subject intent.Party, peer netip.Addr, f intent.Flow) bool {
	isolated := false
	matching := map[string][]Row{} // by tier
	for _, rows := range t.rows {
		for k, r := range rows {
			if r.text("direction") != d.String() || !selects(rows, r.text("subject"), subject) {
				continue
			}
			switch k.kind {
			case kindIsolation:
				isolated = true
			case kindRule:
				if matches(rows, r, subject, peer, f) {
					matching[r.text("tier")] = append(matching[r.text("tier")], r)
				}
			}
		}
	}
	for _, tier := range intent.Tiers() {
		rules := matching[tier.String()]
		if tier == intent.TierNetworkPolicy {
			if len(rules) > 0 || isolated {
				return allAllow(rules)
			}
			continue
		}
		if len(rules) == 0 {
			continue
		}
		first := slices.MinFunc(rules, func(a, b Row) int { return strings.Compare(a.text("order"), b.text("order")) })
		if action := first.text("action"); action != intent.Pass.String() || !tier.Ordered() {
			return action == intent.Allow.String()
		}
	}
	return true
}

// allAllow reports whether there are rules, all of which allow.
func allAllow(rules []Row) bool {
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(r Row) bool { return r.text("action") != intent.Allow.String() })
}

func matches(rows map[id]Row, r Row, subject intent.Party, peer netip.Addr, f intent.Flow) bool {
	if narrowed := r.text("narrowed"); narrowed != "" && !selects(rows, narrowed, subject) {
		return false
	}
	switch r.text("peer") {
	case "anyone":
	case "set":
		if !contains(rows[id{kindSet, r.text("set")}], peer) {
			return false
		}
	default:
		return false
	}
	if everything, _ := r.Fields["any"].(bool); everything {
		return true
	}
	for _, p := range r.list("ports") {
		if covers(p, f.Protocol, f.Port) {
			return true
		}
	}
	return false
}

// selects reports whether the set of that name has p as a member: by its key, or by its address when it has none.
func selects(rows map[id]Row, set string, p intent.Party) bool {
	r := rows[id{kindSet, set}]
	if p.Key != (object.Key{}) {
		return r.has("members", p.Key.String())
	}
	return r.has("addresses", p.Addr.String())
}

func contains(set Row, a netip.Addr) bool {
	if set.has("addresses", a.String()) {
		return true
	}
	for _, p := range set.list("prefixes") {
		if prefix, err := netip.ParsePrefix(p); err == nil && prefix.Contains(a) {
			return true
		}
	}
	return false
}

// covers parses a range of ports, "protocol/first-last" in numbers. What it cannot parse covers nothing.
func covers(ports string, proto intent.Protocol, port uint16) bool {
	run, ok := strings.CutPrefix(ports, fmt.Sprintf("%d/", uint8(proto)))
	if !ok {
		return false
	}
	first, last, _ := strings.Cut(run, "-")
	lo, errLo := strconv.ParseUint(first, 10, 16)
	hi, errHi := strconv.ParseUint(last, 10, 16)
	return errLo == nil && errHi == nil && lo <= uint64(port) && uint64(port) <= hi
}
