package openwrt

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
)

// The order of rules in a file. Of the rules of a chain that match a packet, the first in the file of the device decides. A write moves a rule
// to the end, so what was written last would differ between the replicas of a CNF. Therefore rules are in the order of the IDs of their
// intents, as far as it matters: two that decide the same may be in any order. What comes too early is written again, behind the others,
// before the service is reloaded, which is when the order takes effect.

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
func outOfSequence(want map[section.Key]*render.Wanted, have *inventory, passOver map[section.Key]bool) []*render.Wanted {
	var rules, out []*render.Wanted
	for k, w := range want {
		if w.Decision != (render.Decision{}) && have.objects[k] != nil && !passOver[k] && have.unreadable(k) == "" {
			rules = append(rules, w)
		}
	}
	slices.SortFunc(rules, inSequence)
	chains := map[string]*foremost{}
	for _, w := range rules {
		passed := chains[w.Chain]
		if passed == nil {
			passed = &foremost{}
			chains[w.Chain] = passed
		}
		at := have.objects[w.Key].at
		if at < passed.behind(w.Does) {
			out = append(out, w)
			at = math.MaxInt
		}
		passed.pass(w.Does, at)
	}
	return out
}

// sequence writes rules again that were found out of sequence. What is written by this plan gets its place then, see writer.sequence.
func (c *comparison) sequence() {
	written := map[section.Key]bool{}
	for i := range c.ops {
		if s := stepOf(&c.ops[i]); s.want != nil {
			written[s.key] = true
		}
	}
	for _, w := range outOfSequence(c.want.Objects, c.have, written) {
		if why := c.have.tooMuch(w); why != "" {
			c.skips = append(c.skips, backends.Skip{Intent: w.Intent, InEffect: true, Reason: "it is evaluated before rules that come first: " + why})
			continue
		}
		c.ops = append(c.ops, moveOf(w, nil))
	}
}

// sequence writes those rules again that have to follow what was written. The device may have rejected any of that, so it is not known before.
func (w *writer) sequence(ctx context.Context, written []backends.Op) error {
	if !slices.ContainsFunc(written, func(op backends.Op) bool {
		s := stepOf(&op)
		return s.want != nil && s.want.Decision != (render.Decision{})
	}) {
		return nil
	}
	var moves []backends.Op
	for _, rule := range outOfSequence(w.run.model.resources.Objects, w.have, nil) {
		moves = append(moves, moveOf(rule, w.run))
	}
	_, err := w.stage(ctx, moves, true)
	return err
}

// moveOf is the op that writes a rule again, behind all others.
func moveOf(w *render.Wanted, run *pending) backends.Op {
	return backends.Op{
		Verb: backends.Update, Kind: w.Kind.String(), Name: w.Name, Origin: w.Origin,
		Before: backends.Fields{"position": "before a rule that comes first"}, After: backends.Fields{"position": "behind it"},
		Native: &step{stage: place, key: w.Key, want: w, intent: w.Intent, run: run},
	}
}

// inSequence compares rules in the order in which they are evaluated.
func inSequence(a, b *render.Wanted) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Intent, b.Intent), strings.Compare(a.Name, b.Name))
}
