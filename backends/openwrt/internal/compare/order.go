package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// handOver deletes first the objects whose place in the kernel another object takes.
func (c *Comparison) handOver() {
	gains := map[string]section.Key{}
	for i := range c.Ops {
		if s := StepOf(&c.Ops[i]); s.Want != nil {
			for _, p := range section.Places(s.Key.Kind, s.Want.Object) {
				gains[p] = s.Key
			}
		}
	}
	for i := range c.Ops {
		s := StepOf(&c.Ops[i])
		have := c.Have.Objects[s.Key]
		if s.Want == nil || have == nil {
			continue
		}
		for _, p := range section.Places(s.Key.Kind, have.Object) {
			if to, goes := gains[p]; goes && to != s.Key {
				s.Clear = true
			}
		}
	}
}

// withdraw deletes a translation whose destination changes before the firewall changes, and creates it again afterwards. Otherwise the old or
// the new firewall would judge packets that are meant for the other. A translation whose destination stays is updated in place, so that no
// connection is cut.
func (c *Comparison) withdraw() {
	firewall := openwrt.Zones.Service()
	if !c.Owed[firewall] && !slices.ContainsFunc(c.Ops, func(op backends.Op) bool { return StepOf(&op).Service() == firewall }) {
		return
	}
	for i := range c.Ops {
		s := StepOf(&c.Ops[i])
		if s.Stage != Expose || c.Have.Objects[s.Key] == nil {
			continue
		}
		have := c.Have.Objects[s.Key].Object
		if !exposes(s.Key.Kind, have) || leadsTo(have) == leadsTo(s.Want.Object) {
			continue
		}
		c.Ops[i].Verb, c.Ops[i].Before, c.Ops[i].After = backends.Create, nil, section.Fields(s.Want.Object)
		c.Ops = append(c.Ops, backends.Op{
			Verb: backends.Delete, Kind: s.Key.Kind.String(), Name: s.Key.Name, Origin: c.Ops[i].Origin, Before: section.Fields(have),
			Native: &Step{Stage: Close, Key: s.Key, Intent: s.Intent},
		})
	}
}

// leadsTo is where a translation sends packets.
func leadsTo(o openwrt.Object) [2]string {
	return [2]string{section.Text(o, "dest_ip"), section.Text(o, "dest_port")}
}

// Order sorts ops by stage, and so that referenced objects exist.
func (c *Comparison) Order() {
	slices.SortStableFunc(c.Ops, func(a, b backends.Op) int {
		x, y := StepOf(&a), StepOf(&b)
		if x.Stage != y.Stage {
			return cmp.Compare(x.Stage, y.Stage)
		}
		if x.Stage == Sweep {
			return cmp.Or(cmp.Compare(y.Key.Kind, x.Key.Kind), strings.Compare(x.Key.Name, y.Key.Name))
		}
		return cmp.Or(cmp.Compare(x.Key.Kind, y.Key.Kind), cmp.Compare(x.rank(), y.rank()), strings.Compare(x.sequence(), y.sequence()),
			x.Key.Compare(y.Key))
	})
}
