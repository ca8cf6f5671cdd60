package openwrt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/netloom/netloom/pkg/openwrt"
)

// The scripts with which the device reports its kernel lose what they read: at rest, an idle device returned an empty table for every second
// request. They leave out what is there and may repeat an entry, but invent nothing. So whatever one reading shows is there; something is
// missing only if many readings in a row do not show it; and something is removed only if a second reading shows it.

const (
	// enoughReadings is how many readings must not show what is missing. If every second one is wrong, all are once in a million times.
	enoughReadings = 20
	// enoughAgain is the same for what was missing the last time: what follows from that was done before.
	enoughAgain = 2
	// mostUseless is how many readings that make no sense are repeated.
	mostUseless = 8
)

// findings are the differences between the kernel and the objects of a device.
type findings struct {
	absent  map[key]string      // objects that the kernel lacks, and why that may be
	surplus map[string]leftover // what the kernel should not have, by how people write it
	behind  map[key]latecomer   // applications that the kernel does not evaluate first
	empty   map[string]bool     // tables that should have routes, and have none
	unclear string              // why it is not known whether something is left over
}

// leftover is what the kernel should not have.
type leftover struct {
	object openwrt.Object // with which the device removes it
	seen   int            // how many readings showed it
}

func newFindings() findings {
	return findings{absent: map[key]string{}, surplus: map[string]leftover{}, behind: map[key]latecomer{}, empty: map[string]bool{}}
}

// add adds what was found in another part of the kernel.
func (f *findings) add(o findings) {
	maps.Copy(f.absent, o.absent)
	maps.Copy(f.surplus, o.surplus)
	maps.Copy(f.behind, o.behind)
	maps.Copy(f.empty, o.empty)
}

// once reports whether only one reading showed something.
func (l leftover) once() bool { return l.seen < enoughAgain }

// enough returns how many readings settle the findings. Before is what was missing the last time.
func (f *findings) enough(before map[key]string) int {
	for k := range f.absent {
		if before[k] == "" {
			return enoughReadings
		}
	}
	for _, l := range f.surplus {
		if l.once() {
			return enoughReadings
		}
	}
	for _, l := range f.behind {
		if l.seen < enoughAgain {
			return enoughReadings
		}
	}
	if len(f.absent) > 0 {
		return enoughAgain
	}
	return 1
}

// kernelPart is what the device reports of the kernel under one name.
type kernelPart struct {
	module  string
	read    func(*kernel, json.RawMessage) error // adds a reading; an error says why it makes no sense
	compare func(*kernel, *inventory, *caused, namer) findings
	forget  func(*caused, *kernel)
}

// inspect compares the kernel with what is held and what was caused, as far as it concerns either and the device reports it.
func (b *Backend) inspect(ctx context.Context, h *inventory) (findings, error) {
	rules, routes := len(b.memory.caused.rules) > 0, len(b.memory.caused.routes) > 0
	for k := range h.objects {
		routes = routes || k.kind == openwrt.Routes
		rules = rules || inKernel(k.kind) && k.kind != openwrt.Routes
	}
	all := newFindings()
	h.unseen = ""
	for _, part := range []struct {
		kernelPart
		needed bool
	}{
		{kernelPart{"rule", (*kernel).readRules, (*kernel).compareRules, (*caused).forgetRules}, rules},
		{kernelPart{"route", (*kernel).readRoutes, (*kernel).compareRoutes, (*caused).forgetRoutes}, routes},
	} {
		if !part.needed {
			continue
		}
		f, unseen, err := b.agreed(ctx, h, part.kernelPart)
		if err != nil {
			return findings{}, err
		}
		if unseen = orWord(unseen, f.unclear); unseen != "" {
			h.unseen = "the state of the kernel is unknown: " + unseen
		}
		all.add(f)
	}
	b.doubtEmpty(h, &all)
	return all, nil
}

// agreed reads a part of the kernel until a reading shows no difference, or enough of them leave the same ones. If the device does not
// say what the kernel has, it returns why.
func (b *Backend) agreed(ctx context.Context, h *inventory, part kernelPart) (f findings, unseen string, err error) {
	k := newKernel()
	for useless := 0; useless < mostUseless; {
		m, err := b.client.ModuleStatus(ctx, part.module)
		switch {
		case err == nil:
		case answered(err), errors.Is(err, openwrt.ErrUnexpected), errors.Is(err, openwrt.ErrNoAnswer) && ctx.Err() == nil:
			return newFindings(), err.Error(), nil
		default:
			return findings{}, "", reached(err)
		}
		if err := part.read(k, m.Status); err != nil {
			useless, unseen = useless+1, fmt.Sprintf("the device reports under status/%s what cannot be: %v", part.module, err)
			continue
		}
		k.readings++
		f := part.compare(k, h, b.memory.caused, b.names)
		if k.readings < f.enough(b.absent) {
			continue
		}
		maps.DeleteFunc(f.surplus, func(_ string, l leftover) bool { return l.once() })
		maps.DeleteFunc(f.behind, func(_ key, l latecomer) bool { return l.seen < enoughAgain })
		for at, l := range f.behind {
			f.absent[at] = orWord(f.absent[at], l.why)
		}
		part.forget(b.memory.caused, k)
		return f, "", nil
	}
	return newFindings(), unseen, nil
}

// doubtEmpty leaves out what follows from a table without any route, although the device has objects for it and there were some when the
// kernel was last compared: it counts if it is still so the next time.
func (b *Backend) doubtEmpty(h *inventory, f *findings) {
	before := b.filled
	b.filled = map[string]bool{}
	k := newKernel()
	for at, have := range h.objects {
		if at.kind != openwrt.Routes {
			continue
		}
		table := k.routeOf(have.object).table
		switch {
		case !f.empty[table]:
			b.filled[table] = true
		case before[table] && b.absent[at] == "":
			delete(f.absent, at)
		}
	}
}
