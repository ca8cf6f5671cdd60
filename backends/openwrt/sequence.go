package openwrt

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The order of rules in a file. Of the rules of a chain that match a packet, the first in the file of the device decides. A write moves a rule
// to the end, so what was written last would differ between the replicas of a CNF. Therefore rules are in the order of the IDs of their
// intents, as far as it matters: two that decide the same may be in any order. What comes too early is written again, behind the others,
// before the service is reloaded, which is when the order takes effect.

// decision is what a rule does with a packet that it matches. The zero value means that no order matters.
type decision struct {
	chain string // of the rules of one chain, the first that matches decides
	does  string // rules that do the same may be in any order
}

// firewallDecision is that of a rule between zones.
func firewallDecision(o openwrt.Object) decision {
	switch target := textIn(o, "target"); target {
	case "MARK":
		return decision{"mark", textIn(o, "set_mark") + " " + textIn(o, "set_xmark")}
	case "NOTRACK":
		return decision{}
	default:
		return decision{"filter", target}
	}
}

// translationDecision is that of a translation between zones.
func translationDecision(o openwrt.Object) decision {
	if textIn(o, "target") == "SNAT" {
		return decision{"snat", textIn(o, "src_dip") + " " + textIn(o, "src_dport")}
	}
	return decision{"dnat", textIn(o, "dest_ip") + " " + textIn(o, "dest_port")}
}

// wanDecision is that of a rule of mwan3.
func wanDecision(o openwrt.Object) decision {
	return decision{"mwan3", strings.Join([]string{textIn(o, "policy"), textIn(o, "sticky"), textIn(o, "timeout")}, " ")}
}

// foremost knows which of the objects that were passed is farthest behind, for every decision.
type foremost struct {
	at    int // the greatest position
	does  string
	other int // the greatest one of those that decide something else
}

// behind returns the greatest position of an object that decides something else.
func (f *foremost) behind(does string) int {
	if f.does == does {
		return f.other
	}
	return f.at
}

func (f *foremost) pass(does string, at int) {
	switch {
	case does == f.does:
		f.at = max(f.at, at)
	case at > f.at:
		f.at, f.does, f.other = at, does, f.at
	default:
		f.other = max(f.other, at)
	}
}

// outOfSequence lists the rules on a device that have to be written again, in that order, since they come before others which are to be
// evaluated first. Those that are passed over have no place. Its cost is that of sorting the rules.
func outOfSequence(want map[key]*wanted, have *inventory, passOver map[key]bool) []*wanted {
	var rules, out []*wanted
	for k, w := range want {
		if w.decision != (decision{}) && have.objects[k] != nil && !passOver[k] && have.unreadable(k) == "" {
			rules = append(rules, w)
		}
	}
	slices.SortFunc(rules, inSequence)
	chains := map[string]*foremost{}
	for _, w := range rules {
		passed := chains[w.chain]
		if passed == nil {
			passed = &foremost{}
			chains[w.chain] = passed
		}
		at := have.objects[w.key].at
		if at < passed.behind(w.does) {
			out = append(out, w)
			at = math.MaxInt
		}
		passed.pass(w.does, at)
	}
	return out
}

// sequence writes rules again that were found out of sequence. What is written by this plan gets its place then, see writer.sequence.
func (c *comparison) sequence() {
	written := map[key]bool{}
	for i := range c.ops {
		if s := stepOf(&c.ops[i]); s.want != nil {
			written[s.key] = true
		}
	}
	for _, w := range outOfSequence(c.want.objects, c.have, written) {
		if why := c.have.tooMuch(w); why != "" {
			c.skips = append(c.skips, backends.Skip{Intent: w.intent, InEffect: true, Reason: "it is evaluated before rules that come first: " + why})
			continue
		}
		c.ops = append(c.ops, moveOf(w, nil))
	}
}

// sequence writes those rules again that have to follow what was written. The device may have rejected any of that, so it is not known before.
func (w *writer) sequence(ctx context.Context, written []backends.Op) error {
	if !slices.ContainsFunc(written, func(op backends.Op) bool { s := stepOf(&op); return s.want != nil && s.want.decision != (decision{}) }) {
		return nil
	}
	var moves []backends.Op
	for _, rule := range outOfSequence(w.run.model.resources.objects, w.have, nil) {
		moves = append(moves, moveOf(rule, w.run))
	}
	_, err := w.stage(ctx, moves, true)
	return err
}

// moveOf is the op that writes a rule again, behind all others.
func moveOf(w *wanted, run *pending) backends.Op {
	return backends.Op{
		Verb: backends.Update, Kind: w.kind.String(), Name: w.name, Origin: w.origin,
		Before: backends.Fields{"position": "before a rule that comes first"}, After: backends.Fields{"position": "behind it"},
		Native: &step{stage: place, key: w.key, want: w, intent: w.intent, run: run},
	}
}

// inSequence compares rules in the order in which they are evaluated.
func inSequence(a, b *wanted) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.intent, b.intent), strings.Compare(a.name, b.name))
}
