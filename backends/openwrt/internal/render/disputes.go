package render

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// The order of rules between interfaces. The first that was made decides, which differs between the replicas of a CNF, and a rule can only be
// made again after it was deleted, which would be a moment without it. So their order is left as it is, and rules between which it decides
// are reported.

// mostDisputed bounds how many pairs of rules of a CNF are compared. Those of 500 rules, half of which accept, fit in.
const mostDisputed = 1 << 16

// disputes is the rules between interfaces of a CNF's intents, in the order of their IDs.
type disputes struct {
	chains   map[string][]*disputed
	compared int
}

// disputed is a rule, and what it does with a packet that it matches.
type disputed struct {
	of   string // the ID of the intent
	rule *intent.LinkRule
	does string
	told bool
}

// add takes in a rule, and reports it and those before it if their order decides: each once, with one other.
func (d *disputes) add(of intent.DeviceIntentID, rule *intent.LinkRule) []backends.Skip {
	chain, does := "filter", fmt.Sprint(rule.Decides)
	if rule.Decides == intent.Mark {
		chain, does = "mark", rule.SetMark+" "+rule.XorMark
	}
	r := &disputed{of: string(of), rule: rule, does: does}
	if d.chains == nil {
		d.chains = map[string][]*disputed{}
	}
	earlier := d.chains[chain]
	d.chains[chain] = append(earlier, r)
	var out []backends.Skip
	tell := func(r *disputed, reason string) {
		if !r.told {
			r.told = true
			out = append(out, backends.Skip{Intent: r.of, InEffect: true, Reason: reason})
		}
	}
	for _, o := range earlier {
		if o.does == r.does {
			continue
		}
		if d.compared++; d.compared > mostDisputed {
			tell(r, "the CNF has too many rules between interfaces to find those that match the same packets as this one")
			break
		}
		if meet(rule, o.rule) {
			const reason = "%s matches some of the same packets and decides otherwise, and which of the two was made first, and applies, may differ " +
				"between replicas: change one of them"
			tell(r, fmt.Sprintf(reason, o.of))
			tell(o, fmt.Sprintf(reason, r.of))
			break
		}
	}
	return out
}

// meet reports whether a packet can match both rules, as far as that can be known without the device.
func meet(a, b *intent.LinkRule) bool {
	link := func(a, b intent.Link) bool { return a == b || a.Name == "" || b.Name == "" }
	if (a.To == intent.Link{}) != (b.To == intent.Link{}) {
		return false // packets to the CNF, and packets through it
	}
	return link(a.From, b.From) && link(a.To, b.To) && packets(&a.Match, &b.Match)
}

// packets reports whether a packet can meet both conditions. Masks of marks may have no bit in common.
func packets(a, b *intent.Match) bool {
	switch {
	case a.Src.IsValid() && b.Src.IsValid() && !a.Src.Overlaps(b.Src), a.Dst.IsValid() && b.Dst.IsValid() && !a.Dst.Overlaps(b.Dst):
		return false
	case a.SrcMAC != "" && b.SrcMAC != "" && a.SrcMAC != b.SrcMAC:
		return false
	case a.SrcPort != 0 && b.SrcPort != 0 && a.SrcPort != b.SrcPort, a.DstPort != 0 && b.DstPort != 0 && a.DstPort != b.DstPort:
		return false
	case len(a.ICMPTypes) > 0 && len(b.ICMPTypes) > 0 && !slices.ContainsFunc(a.ICMPTypes, func(t string) bool {
		return t == "any" || slices.Contains(b.ICMPTypes, t) || slices.Contains(b.ICMPTypes, "any")
	}):
		return false
	}
	one, other := protocols(a.Protocol), protocols(b.Protocol)
	return one == nil || other == nil || slices.ContainsFunc(one, func(p string) bool { return slices.Contains(other, p) })
}

// protocols returns those of a word; nil means all.
func protocols(word string) []string {
	switch word {
	case "", "all":
		return nil
	case "tcpudp":
		return []string{"tcp", "udp"}
	default:
		return []string{word}
	}
}
