package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
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

// OutOfSequence lists the rules on a device that have to be written again, in that order, since they come before others which are to be
// evaluated first. Those that are passed over have no place. Its cost is that of sorting the rules.
func OutOfSequence(want map[section.Key]*render.Wanted, have *device.Inventory, passOver map[section.Key]bool) []*render.Wanted {
	var rules, out []*render.Wanted
	for k, w := range want {
		if w.Decision != (render.Decision{}) && have.Objects[k] != nil && !passOver[k] && have.Unreadable(k) == "" {
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
		at := have.Objects[w.Key].At
		if at < passed.behind(w.Does) {
			out = append(out, w)
			at = math.MaxInt
		}
		passed.pass(w.Does, at)
	}
	return out
}

// sequence writes rules again that were found out of sequence. What is written by this plan gets its place then, see OutOfSequence.
func (c *Comparison) sequence() {
	written := map[section.Key]bool{}
	for i := range c.Ops {
		if s := StepOf(&c.Ops[i]); s.Want != nil {
			written[s.Key] = true
		}
	}
	for _, w := range OutOfSequence(c.Want.Objects, c.Have, written) {
		if why := c.Have.TooMuch(w); why != "" {
			c.Skips = append(c.Skips, backends.Skip{Intent: w.Intent, InEffect: true, Reason: "it is evaluated before rules that come first: " + why})
			continue
		}
		c.Ops = append(c.Ops, MoveOf(w))
	}
}

// MoveOf is the op that writes a rule again, behind all others.
func MoveOf(w *render.Wanted) backends.Op {
	return backends.Op{
		Verb: backends.Update, Kind: w.Kind.String(), Name: w.Name, Origin: w.Origin,
		Before: backends.Fields{"position": "before a rule that comes first"}, After: backends.Fields{"position": "behind it"},
		Native: &Step{Stage: Place, Key: w.Key, Want: w, Intent: w.Intent},
	}
}

// inSequence compares rules in the order in which they are evaluated.
func inSequence(a, b *render.Wanted) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Intent, b.Intent), strings.Compare(a.Name, b.Name))
}
