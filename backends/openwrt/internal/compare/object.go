package compare

import (
	"cmp"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// object compares one object.
func (c *Comparison) object(w *render.Wanted) {
	for _, need := range w.Needs {
		if why, gone := c.missing[need]; gone {
			c.leaveOut(w, "needs "+need.String()+", which is missing: "+why)
			return
		}
	}
	if why := c.Have.Unreadable(w.Key); why != "" {
		c.leaveOut(w, why)
		return
	}
	have := c.Have.Objects[w.Key]
	if have != nil && have.As == w {
		return
	}
	if r, ok := c.Refused[w.Key]; ok && r.Of == section.DigestOf(w.Object) {
		c.leaveOut(w, r.Reason)
		return
	}
	op := backends.Op{Verb: backends.Update, Kind: w.Kind.String(), Name: w.Name, Origin: w.Origin}
	if have == nil {
		op.Verb, op.After = backends.Create, section.Fields(w.Object)
	} else if op.Before, op.After = c.changes(w, have); len(op.Before)+len(op.After) == 0 {
		have.As = w
		return
	}
	if why := c.Have.TooMuch(w); why != "" {
		c.leaveOut(w, why)
		return
	}
	op.Native = &Step{Stage: writing(w.Kind, w.Object), Key: w.Key, Want: w, Intent: w.Intent}
	c.Ops = append(c.Ops, op)
}

// changes returns the fields in which an object differs.
func (c *Comparison) changes(w *render.Wanted, have *device.Object) (before, after backends.Fields) {
	differ := openwrt.Diff(w.Kind, w.Object, have.Object)
	if !c.sealedAs(w, have) {
		differ = append(differ, section.WriteOnlyFields()...)
	}
	if len(differ) == 0 && have.Copies == 1 {
		return nil, nil
	}
	before, after = backends.Fields{}, backends.Fields{}
	old, next := section.Fields(have.Object), section.Fields(w.Object)
	for _, name := range differ {
		for f, v := range old {
			if f == name || strings.HasPrefix(f, name+".") {
				before[f] = v
			}
		}
		for f, v := range next {
			if f == name || strings.HasPrefix(f, name+".") {
				after[f] = v
			}
		}
	}
	if have.Copies > 1 {
		before["copies"], after["copies"] = have.Copies, 1
	}
	return before, after
}

// remove deletes an object that no intent wants any more.
func (c *Comparison) remove(k section.Key) {
	if r, ok := c.Refused[k]; ok && r.Of == "" {
		c.Skips = append(c.Skips, backends.Skip{Intent: cmp.Or(c.Want.Gone[k], k.String()), Reason: r.Reason})
		return
	}
	c.Ops = append(c.Ops, backends.Op{
		Verb: backends.Delete, Kind: k.Kind.String(), Name: k.Name, Before: section.Fields(c.Have.Objects[k].Object),
		Native: &Step{Stage: deleting(k.Kind, c.Have.Objects[k].Object), Key: k, Intent: cmp.Or(c.Want.Gone[k], k.String())},
	})
}

// sealedAs reports whether the device is known, from a note, to have the certificates of w.
func (c *Comparison) sealedAs(w *render.Wanted, have *device.Object) bool {
	if w.Kind != openwrt.Remotes {
		return true
	}
	written := section.Sealed(w.Object)
	if written == "" {
		return true
	}
	seal := c.Names.Seal(w.Name, written, section.Shown(have.Object))
	return c.Have.Notes[seal] || c.Seals[w.Key] == seal
}
