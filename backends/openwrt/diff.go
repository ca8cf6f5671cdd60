package openwrt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// stage is when an op is applied. Stages follow each other.
type stage int

const (
	release stage = iota // deletes objects that the kernel can have only once, so that others can take their place
	place                // creates and updates, referenced objects first
	sweep                // deletes, referring objects first
	reload
)

// step is the native form of an op, for Apply.
type step struct {
	stage stage
	key   section.Key
	want  *render.Wanted // nil for a deletion
	// surplus is what a deletion stores first, without effect, so that the device then deletes it in the kernel; nil if the
	// device has the object.
	surplus openwrt.Object
	// intent is what to name if the device rejects the op; for a deletion without an intent, the object itself.
	intent string
	clear  bool // another object takes its place in the kernel: delete it before anything is written
	must   bool // for a reload: even if nothing is written now
	run    *pending
}

// comparison compares what should be on the device with what is.
type comparison struct {
	want    *render.Desired
	have    *inventory
	names   section.Namer
	refused map[section.Key]refusal // what the device rejected, and is not retried now
	seals   map[section.Key]string  // what notes of certificates would say, as far as this process left them
	ops     []backends.Op
	skips   []backends.Skip
	missing map[section.Key]string // what will be missing, and why
	// What findLost finds, sorted, and the objects that stay on the device because of it.
	lost, kept []object.Ref
	stays      map[section.Key]bool
}

// diff lists what has to be written, without reloads, in a safe order. Lost objects that are in keep stay.
func (c *comparison) diff(keep map[object.Ref]bool) {
	c.missing = map[section.Key]string{}
	c.have.startCounting()
	for k := range c.want.Keep {
		if c.have.objects[k] == nil {
			c.missing[k] = "it cannot be written now"
		}
	}
	for _, k := range section.Sorted(c.want.Objects) { // a kind refers only to those before it
		c.object(c.want.Objects[k])
	}
	c.findLost(keep)
	for _, k := range section.Sorted(c.have.objects) {
		if c.unwanted(k) && !c.stays[k] {
			c.remove(k)
		}
	}
	for _, k := range section.Sorted(c.want.Gone) {
		if why := c.have.unreadable(k); why != "" {
			c.skips = append(c.skips, backends.Skip{Intent: c.want.Gone[k], Reason: why})
		}
	}
	c.staleNotes()
	c.sequence()
	c.handOver()
	c.order()
}

// retained reports whether an unwanted object stays because it may belong to an intent that is not known yet.
func (c *comparison) retained(k section.Key) bool {
	return c.want.Retain[k.Kind] && c.want.Gone[k] == ""
}

// object compares one object.
func (c *comparison) object(w *render.Wanted) {
	for _, need := range w.Needs {
		if why, gone := c.missing[need]; gone {
			c.leaveOut(w, "needs "+need.String()+", which is missing: "+why)
			return
		}
	}
	if why := c.have.unreadable(w.Key); why != "" {
		c.leaveOut(w, why)
		return
	}
	have := c.have.objects[w.Key]
	if have != nil && have.as == w {
		return
	}
	if r, ok := c.refused[w.Key]; ok && r.of == section.DigestOf(w.Object) {
		c.leaveOut(w, r.reason)
		return
	}
	op := backends.Op{Verb: backends.Update, Kind: w.Kind.String(), Name: w.Name, Origin: w.Origin}
	if have == nil {
		op.Verb, op.After = backends.Create, section.Fields(w.Object)
	} else if op.Before, op.After = c.changes(w, have); len(op.Before)+len(op.After) == 0 {
		have.as = w
		return
	}
	if why := c.have.tooMuch(w); why != "" {
		c.leaveOut(w, why)
		return
	}
	op.Native = &step{stage: place, key: w.Key, want: w, intent: w.Intent}
	c.ops = append(c.ops, op)
}

func (c *comparison) leaveOut(w *render.Wanted, reason string) {
	c.skips = append(c.skips, backends.Skip{Intent: w.Intent, Reason: reason})
	if c.have.objects[w.Key] == nil {
		c.missing[w.Key] = reason
	}
}

// changes returns the fields in which an object differs.
func (c *comparison) changes(w *render.Wanted, have *deviceObject) (before, after backends.Fields) {
	differ := openwrt.Diff(w.Kind, w.Object, have.object)
	if !c.sealedAs(w, have) {
		differ = append(differ, section.WriteOnlyFields()...)
	}
	if len(differ) == 0 && have.copies == 1 {
		return nil, nil
	}
	before, after = backends.Fields{}, backends.Fields{}
	old, next := section.Fields(have.object), section.Fields(w.Object)
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
	if have.copies > 1 {
		before["copies"], after["copies"] = have.copies, 1
	}
	return before, after
}

// sealedAs reports whether the device is known, from a note, to have the certificates of w.
func (c *comparison) sealedAs(w *render.Wanted, have *deviceObject) bool {
	if w.Kind != openwrt.Remotes {
		return true
	}
	written := section.Sealed(w.Object)
	if written == "" {
		return true
	}
	seal := c.names.Seal(w.Name, written, section.Shown(have.object))
	return c.have.notes[seal] || c.seals[w.Key] == seal
}

// remove deletes an object that no intent wants any more.
func (c *comparison) remove(k section.Key) {
	if r, ok := c.refused[k]; ok && r.of == "" {
		c.skips = append(c.skips, backends.Skip{Intent: cmp.Or(c.want.Gone[k], k.String()), Reason: r.reason})
		return
	}
	when := sweep
	if section.InKernel(k.Kind) {
		when = release
	}
	c.ops = append(c.ops, backends.Op{
		Verb: backends.Delete, Kind: k.Kind.String(), Name: k.Name, Before: section.Fields(c.have.objects[k].object),
		Native: &step{stage: when, key: k, intent: cmp.Or(c.want.Gone[k], k.String())},
	})
}

// staleNotes deletes notes of certificates that were never written or that were changed by others. As long as it is not
// known what a remote should be, its notes are not known either.
func (c *comparison) staleNotes() {
	known := map[string]bool{}
	if c.have.unlisted(openwrt.Remotes) || c.have.unlisted(openwrt.Proposals) {
		return
	}
	for k := range c.stays {
		if k.Kind == openwrt.Remotes {
			return
		}
	}
	for k := range c.want.Keep {
		if k.Kind == openwrt.Remotes {
			return
		}
	}
	for k, w := range c.want.Objects {
		if have := c.have.objects[k]; have != nil && k.Kind == openwrt.Remotes {
			known[c.names.Seal(k.Name, section.Sealed(w.Object), section.Shown(have.object))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.have.notes)) {
		if n, remote, ok := c.names.PartsIn(name); ok {
			c.leftover(n, remote)
		}
		if !known[name] && strings.HasPrefix(name, c.names.Mark+"_seal_") {
			c.ops = append(c.ops, backends.Op{
				Verb: backends.Delete, Kind: openwrt.Proposals.String(), Name: name, Before: backends.Fields{"note": "of certificates"},
				Again:  true, // only our own bookkeeping
				Native: &step{stage: sweep, key: section.Key{Kind: openwrt.Proposals, Name: name}, intent: name},
			})
		}
	}
}

// leftover deletes the certificates of a remote that was deleted by others.
func (c *comparison) leftover(n section.Parts, remote string) {
	k := section.Key{Kind: openwrt.Remotes, Name: remote}
	if c.have.objects[k] != nil || c.want.Objects[k] != nil || c.want.Keep[k] {
		return
	}
	blank := openwrt.Remote{Name: remote, Enabled: "0", Authentication: "pubkey"}
	blank.PublicCert, blank.SharedCA = openwrt.WithdrawnParts(n[0]), openwrt.WithdrawnParts(n[2])
	blank.PrivateKey = openwrt.Secret(openwrt.WithdrawnParts(n[1]))
	c.ops = append(c.ops, backends.Op{
		Verb: backends.Delete, Kind: k.Kind.String(), Name: k.Name, Before: backends.Fields{"files": "left over"},
		Native: &step{stage: sweep, key: k, surplus: openwrt.ObjectOf(blank), intent: k.String()},
	})
}

// handOver deletes first the objects whose place in the kernel another object takes.
func (c *comparison) handOver() {
	gains := map[string]section.Key{}
	for i := range c.ops {
		if s := stepOf(&c.ops[i]); s.want != nil {
			for _, p := range section.Places(s.key.Kind, s.want.Object) {
				gains[p] = s.key
			}
		}
	}
	for i := range c.ops {
		s := stepOf(&c.ops[i])
		have := c.have.objects[s.key]
		if s.want == nil || have == nil {
			continue
		}
		for _, p := range section.Places(s.key.Kind, have.object) {
			if to, goes := gains[p]; goes && to != s.key {
				s.clear = true
			}
		}
	}
}

// order sorts ops by stage, and so that referenced objects exist.
func (c *comparison) order() {
	slices.SortStableFunc(c.ops, func(a, b backends.Op) int {
		x, y := stepOf(&a), stepOf(&b)
		if x.stage != y.stage {
			return cmp.Compare(x.stage, y.stage)
		}
		if x.stage == sweep {
			return cmp.Or(cmp.Compare(y.key.Kind, x.key.Kind), strings.Compare(x.key.Name, y.key.Name))
		}
		return cmp.Or(cmp.Compare(x.key.Kind, y.key.Kind), cmp.Compare(x.rank(), y.rank()), strings.Compare(x.sequence(), y.sequence()),
			x.key.Compare(y.key))
	})
}

// rank orders translations by their position in the chain, so that inserting one does not move an earlier one.
func (s *step) rank() int {
	if s.want == nil {
		return 0
	}
	return render.PlaceOf(s.want.Object)
}

// sequence orders rules whose order matters; "" is any other object.
func (s *step) sequence() string {
	if s.want == nil || s.want.Decision == (render.Decision{}) {
		return ""
	}
	return s.want.Intent
}

func stepOf(op *backends.Op) *step {
	s, _ := op.Native.(*step)
	return s
}
