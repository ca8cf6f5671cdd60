package compare

import (
	"cmp"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Comparison compares what should be on the device with what is.
type Comparison struct {
	Want    *render.Desired
	Have    *device.Inventory
	Names   section.Namer
	Refused map[section.Key]Refusal // what the device rejected, and is not retried now
	Seals   map[section.Key]string  // what notes of certificates would say, as far as this process left them
	Ops     []backends.Op
	Skips   []backends.Skip
	missing map[section.Key]string // what will be missing, and why
	// What findLost finds, sorted, and the objects that stay on the device because of it.
	lost, kept []object.Ref
	stays      map[section.Key]bool
}

// Diff lists what has to be written, without reloads, in a safe order. Lost objects that are in keep stay.
func (c *Comparison) Diff(keep map[object.Ref]bool) {
	c.missing = map[section.Key]string{}
	c.Have.StartCounting()
	for k := range c.Want.Keep {
		if c.Have.Objects[k] == nil {
			c.missing[k] = "it cannot be written now"
		}
	}
	for _, k := range section.Sorted(c.Want.Objects) { // a kind refers only to those before it
		c.object(c.Want.Objects[k])
	}
	c.findLost(keep)
	for _, k := range section.Sorted(c.Have.Objects) {
		if c.unwanted(k) && !c.stays[k] {
			c.remove(k)
		}
	}
	for _, k := range section.Sorted(c.Want.Gone) {
		if why := c.Have.Unreadable(k); why != "" {
			c.Skips = append(c.Skips, backends.Skip{Intent: c.Want.Gone[k], Reason: why})
		}
	}
	c.staleNotes()
	c.sequence()
	c.handOver()
	c.Order()
}

// retained reports whether an unwanted object stays because it may belong to an intent that is not known yet.
func (c *Comparison) retained(k section.Key) bool {
	return c.Want.Retain[k.Kind] && c.Want.Gone[k] == ""
}

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
	op.Native = &Step{Stage: Place, Key: w.Key, Want: w, Intent: w.Intent}
	c.Ops = append(c.Ops, op)
}

func (c *Comparison) leaveOut(w *render.Wanted, reason string) {
	c.Skips = append(c.Skips, backends.Skip{Intent: w.Intent, Reason: reason})
	if c.Have.Objects[w.Key] == nil {
		c.missing[w.Key] = reason
	}
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
	when := Sweep
	if section.InKernel(k.Kind) {
		when = Release
	}
	c.Ops = append(c.Ops, backends.Op{
		Verb: backends.Delete, Kind: k.Kind.String(), Name: k.Name, Before: section.Fields(c.Have.Objects[k].Object),
		Native: &Step{Stage: when, Key: k, Intent: cmp.Or(c.Want.Gone[k], k.String())},
	})
}
