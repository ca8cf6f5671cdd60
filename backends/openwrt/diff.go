package openwrt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
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
	key   key
	want  *wanted // nil for a deletion
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
	want    *desired
	have    *inventory
	names   namer
	refused map[key]refusal // what the device rejected, and is not retried now
	seals   map[key]string  // what notes of certificates would say, as far as this process left them
	ops     []backends.Op
	skips   []backends.Skip
	missing map[key]string // what will be missing, and why
	// What findLost finds, sorted, and the objects that stay on the device because of it.
	lost, kept []object.Ref
	stays      map[key]bool
}

// diff lists what has to be written, without reloads, in a safe order. Lost objects that are in keep stay.
func (c *comparison) diff(keep map[object.Ref]bool) {
	c.missing = map[key]string{}
	c.have.startCounting()
	for k := range c.want.keep {
		if c.have.objects[k] == nil {
			c.missing[k] = "it cannot be written now"
		}
	}
	for _, k := range sorted(c.want.objects) { // a kind refers only to those before it
		c.object(c.want.objects[k])
	}
	c.findLost(keep)
	for _, k := range sorted(c.have.objects) {
		if c.unwanted(k) && !c.stays[k] {
			c.remove(k)
		}
	}
	for _, k := range sorted(c.want.gone) {
		if why := c.have.unreadable(k); why != "" {
			c.skips = append(c.skips, backends.Skip{Intent: c.want.gone[k], Reason: why})
		}
	}
	c.staleNotes()
	c.sequence()
	c.handOver()
	c.order()
}

// retained reports whether an unwanted object stays because it may belong to an intent that is not known yet.
func (c *comparison) retained(k key) bool { return c.want.retain[k.kind] && c.want.gone[k] == "" }

// object compares one object.
func (c *comparison) object(w *wanted) {
	for _, need := range w.needs {
		if why, gone := c.missing[need]; gone {
			c.leaveOut(w, "needs "+need.String()+", which is missing: "+why)
			return
		}
	}
	if why := c.have.unreadable(w.key); why != "" {
		c.leaveOut(w, why)
		return
	}
	have := c.have.objects[w.key]
	if have != nil && have.as == w {
		return
	}
	if r, ok := c.refused[w.key]; ok && r.of == digestOf(w.object) {
		c.leaveOut(w, r.reason)
		return
	}
	op := backends.Op{Verb: backends.Update, Kind: w.kind.String(), Name: w.name, Origin: w.origin}
	if have == nil {
		op.Verb, op.After = backends.Create, fields(w.object)
	} else if op.Before, op.After = c.changes(w, have); len(op.Before)+len(op.After) == 0 {
		have.as = w
		return
	}
	if why := c.have.tooMuch(w); why != "" {
		c.leaveOut(w, why)
		return
	}
	op.Native = &step{stage: place, key: w.key, want: w, intent: w.intent}
	c.ops = append(c.ops, op)
}

func (c *comparison) leaveOut(w *wanted, reason string) {
	c.skips = append(c.skips, backends.Skip{Intent: w.intent, Reason: reason})
	if c.have.objects[w.key] == nil {
		c.missing[w.key] = reason
	}
}

// changes returns the fields in which an object differs.
func (c *comparison) changes(w *wanted, have *deviceObject) (before, after backends.Fields) {
	differ := openwrt.Diff(w.kind, w.object, have.object)
	if !c.sealedAs(w, have) {
		differ = append(differ, writeOnlyFields()...)
	}
	if len(differ) == 0 && have.copies == 1 {
		return nil, nil
	}
	before, after = backends.Fields{}, backends.Fields{}
	old, next := fields(have.object), fields(w.object)
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
func (c *comparison) sealedAs(w *wanted, have *deviceObject) bool {
	if w.kind != openwrt.Remotes {
		return true
	}
	written := sealed(w.object)
	if written == "" {
		return true
	}
	seal := c.names.seal(w.name, written, shown(have.object))
	return c.have.notes[seal] || c.seals[w.key] == seal
}

// remove deletes an object that no intent wants any more.
func (c *comparison) remove(k key) {
	if r, ok := c.refused[k]; ok && r.of == "" {
		c.skips = append(c.skips, backends.Skip{Intent: cmp.Or(c.want.gone[k], k.String()), Reason: r.reason})
		return
	}
	when := sweep
	if kindsByObject()[k.kind].places != nil {
		when = release
	}
	c.ops = append(c.ops, backends.Op{
		Verb: backends.Delete, Kind: k.kind.String(), Name: k.name, Before: fields(c.have.objects[k].object),
		Native: &step{stage: when, key: k, intent: cmp.Or(c.want.gone[k], k.String())},
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
		if k.kind == openwrt.Remotes {
			return
		}
	}
	for k := range c.want.keep {
		if k.kind == openwrt.Remotes {
			return
		}
	}
	for k, w := range c.want.objects {
		if have := c.have.objects[k]; have != nil && k.kind == openwrt.Remotes {
			known[c.names.seal(k.name, sealed(w.object), shown(have.object))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.have.notes)) {
		if n, remote, ok := c.names.partsIn(name); ok {
			c.leftover(n, remote)
		}
		if !known[name] && strings.HasPrefix(name, c.names.mark+"_seal_") {
			c.ops = append(c.ops, backends.Op{
				Verb: backends.Delete, Kind: openwrt.Proposals.String(), Name: name, Before: backends.Fields{"note": "of certificates"},
				Again:  true, // only our own bookkeeping
				Native: &step{stage: sweep, key: key{openwrt.Proposals, name}, intent: name},
			})
		}
	}
}

// leftover deletes the certificates of a remote that was deleted by others.
func (c *comparison) leftover(n parts, remote string) {
	k := key{openwrt.Remotes, remote}
	if c.have.objects[k] != nil || c.want.objects[k] != nil || c.want.keep[k] {
		return
	}
	blank := openwrt.Remote{Name: remote, Enabled: "0", Authentication: "pubkey"}
	blank.PublicCert, blank.SharedCA = openwrt.WithdrawnParts(n[0]), openwrt.WithdrawnParts(n[2])
	blank.PrivateKey = openwrt.Secret(openwrt.WithdrawnParts(n[1]))
	c.ops = append(c.ops, backends.Op{
		Verb: backends.Delete, Kind: k.kind.String(), Name: k.name, Before: backends.Fields{"files": "left over"},
		Native: &step{stage: sweep, key: k, surplus: openwrt.ObjectOf(blank), intent: k.String()},
	})
}

// handOver deletes first the objects whose place in the kernel another object takes.
func (c *comparison) handOver() {
	gains := map[string]key{}
	for i := range c.ops {
		if s := stepOf(&c.ops[i]); s.want != nil {
			for _, p := range places(s.key.kind, s.want.object) {
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
		for _, p := range places(s.key.kind, have.object) {
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
			return cmp.Or(cmp.Compare(y.key.kind, x.key.kind), strings.Compare(x.key.name, y.key.name))
		}
		return cmp.Or(cmp.Compare(x.key.kind, y.key.kind), cmp.Compare(x.rank(), y.rank()), strings.Compare(x.sequence(), y.sequence()),
			x.key.compare(y.key))
	})
}

// rank orders translations by their position in the chain, so that inserting one does not move an earlier one.
func (s *step) rank() int {
	if s.want == nil {
		return 0
	}
	return placeOf(s.want.object)
}

// sequence orders rules whose order matters; "" is any other object.
func (s *step) sequence() string {
	if s.want == nil || s.want.decision == (decision{}) {
		return ""
	}
	return s.want.intent
}

func stepOf(op *backends.Op) *step {
	s, _ := op.Native.(*step)
	return s
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[key]V) []key { return slices.SortedFunc(maps.Keys(m), key.compare) }
