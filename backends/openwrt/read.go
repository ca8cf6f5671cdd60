package openwrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// One section that the device's scripts cannot read makes them abort on the list of its kind, and a package that is too large
// ends a daemon at each read. So a kind that is not listed is unavailable: its objects are read one by one where that works,
// and everything else goes on.

// mostItems is how many objects of one kind are read one by one.
const mostItems = 64

// observe reads back every kind. Want are the objects of intents, some of which are ours although others made them; policies reports whether
// there are any to enforce.
func (b *Backend) observe(ctx context.Context, want *render.Desired, policies bool) (*device.Inventory, error) {
	h := device.NewInventory()
	lacking, broken := 0, false
	var fault error
	for _, kind := range openwrt.Kinds() {
		module := section.Key{Kind: kind}.Module()
		if h.Resting[module] == "" && b.rests.has(module, b.needs(module, want, policies)) {
			h.Resting[module] = restReason
		}
		if why := h.Resting[module]; why != "" {
			h.Kinds[kind] = why
			continue
		}
		all, err := b.client.List(ctx, kind)
		if err == nil && len(all) == 0 {
			err = b.believe(ctx, kind, want)
		}
		switch {
		case err == nil:
			for _, o := range all {
				h.Note(section.Key{Kind: kind, Name: o.Name()}, o, b.names, want.Mentions)
			}
			b.remember(kind, h)
		case openwrt.IsNotFound(err):
			lacking++ // a device without that module has nothing there, and rejects what is written
			if lacking == len(openwrt.Kinds()) {
				return nil, err
			}
		case errors.Is(err, errBadPackage):
			why := badPackage(module, err)
			h.Resting[module], h.Kinds[kind] = why, why
		case errors.Is(err, errFalseList):
			b.leaveAlone(h, kind)
			broken = true
		case openwrt.IsFault(err) && broken:
			return nil, err // nothing works until the daemon is back
		case openwrt.IsFault(err), errors.Is(err, openwrt.ErrUnexpected):
			fault = err
			h.Kinds[kind] = "cannot be listed: " + err.Error()
		case errors.Is(err, openwrt.ErrNoAnswer) && ctx.Err() == nil:
			if err := b.slow(ctx, h, kind, err); err != nil {
				return nil, err
			}
		default:
			return nil, reached(err)
		}
	}
	if len(h.Kinds)+lacking == len(openwrt.Kinds()) && fault != nil {
		return nil, fault // nothing works
	}
	b.rests.settle(h.Resting)
	b.silent = false
	slices.Sort(h.Zones)
	h.Zones = slices.Compact(h.Zones)
	return h, nil
}

// slow handles a list that did not arrive. If the device answers something else, even with an error, the fault is that of the module, which is
// then left alone for a while. A device that did not answer at all before may have come back in between: then it is read again first.
func (b *Backend) slow(ctx context.Context, h *device.Inventory, kind openwrt.Kind, cause error) error {
	_, err := b.client.Services(ctx)
	silent := b.silent
	b.silent = err != nil && !answered(err)
	if b.silent || silent {
		return reached(cause)
	}
	b.leaveAlone(h, kind)
	if err != nil {
		return fmt.Errorf("%w; and then: %w", cause, err)
	}
	return nil
}

// errFalseList means that a list is empty although there are objects, or may be.
var errFalseList = errors.New("the device returned an empty list, but has objects")

// errBadPackage means that a list is empty, that its objects cannot be read, and that the device works.
var errBadPackage = errors.New("its lists are empty, and its objects cannot be read")

// believe checks an empty list: a device returns one if its daemon has ended, or if it cannot read the package. An object that was there or is
// wanted settles it, and if that cannot be read, whether the device answers anything else: without its daemon it does not.
func (b *Backend) believe(ctx context.Context, kind openwrt.Kind, want *render.Desired) error {
	name := b.known[kind]
	if name == "" {
		if keys := want.Of(kind); len(keys) > 0 {
			name = keys[0].Name
		}
	}
	if name == "" {
		return nil
	}
	_, err := b.client.Get(ctx, kind, name)
	switch {
	case openwrt.IsNotFound(err):
		delete(b.known, kind)
		return nil
	case openwrt.IsFault(err):
		if _, other := b.client.Services(ctx); other == nil {
			return fmt.Errorf("%w: %w", errBadPackage, err)
		}
		return errFalseList
	case err == nil, errors.Is(err, openwrt.ErrNoAnswer) && ctx.Err() == nil:
		return errFalseList
	default:
		return err
	}
}

// remember records an object of a kind, to ask for when a list is empty.
func (b *Backend) remember(kind openwrt.Kind, h *device.Inventory) {
	for k := range h.Objects {
		if k.Kind == kind && (b.known[kind] == "" || k.Name < b.known[kind]) {
			b.known[kind] = k.Name
		}
	}
}

// readItems reads one by one what is wanted of the kinds that the device does not list, and the notes that may be there.
func (b *Backend) readItems(ctx context.Context, m *model) error {
	h := m.have
	for _, kind := range openwrt.Kinds() {
		if !h.Unlisted(kind) || h.Resting[section.Key{Kind: kind}.Module()] != "" {
			continue
		}
		wanted := slices.Concat(m.resources.Of(kind), m.policies.Of(kind))
		for i, k := range wanted {
			if i >= mostItems {
				h.Unread[k] = h.Kinds[kind]
				continue
			}
			if err := b.readItem(ctx, h, k); err != nil {
				return err
			}
		}
	}
	if h.Unlisted(openwrt.Proposals) && h.Resting[section.Key{Kind: openwrt.Proposals}.Module()] == "" {
		return b.readNotes(ctx, m)
	}
	return nil
}

func (b *Backend) readItem(ctx context.Context, h *device.Inventory, k section.Key) error {
	o, err := b.client.Get(ctx, k.Kind, k.Name)
	switch {
	case err == nil:
		h.Note(k, o, b.names, func(section.Key) bool { return true })
		return nil
	case openwrt.IsNotFound(err):
		return nil
	case openwrt.IsFault(err), errors.Is(err, openwrt.ErrUnexpected):
		h.Unread[k] = "the device cannot read it: " + err.Error()
		return nil
	default:
		return reached(err)
	}
}

// readNotes reads the notes that matter.
func (b *Backend) readNotes(ctx context.Context, m *model) error {
	names := map[string]bool{}
	for _, kind := range openwrt.Kinds() {
		if s := kind.Service(); s != "" {
			names[b.names.Pending(s)] = true
		}
	}
	for k, w := range m.resources.Objects {
		if have := m.have.Objects[k]; have != nil && section.Sealed(w.Object) != "" {
			names[b.names.Seal(k.Name, section.Sealed(w.Object), section.Shown(have.Object))] = true
		}
	}
	for name := range names {
		if err := b.readItem(ctx, m.have, section.Key{Kind: openwrt.Proposals, Name: name}); err != nil {
			return err
		}
	}
	return nil
}

// leaveAlone begins a rest of a module.
func (b *Backend) leaveAlone(h *device.Inventory, kind openwrt.Kind) {
	module := section.Key{Kind: kind}.Module()
	lasts := b.rests.leaveAlone(module)
	h.Resting[module], h.Kinds[kind] = restReason, restReason
	b.opts.Log.WithFields(logrus.Fields{"cnf": string(b.opts.CNF), "package": module, "pause": lasts.String()}).
		Warn("the device cannot return a package, and reading it may end a daemon of the device: it is left alone")
}

// needs reports whether a module has to be read: something is wanted there, or was when it was last read.
func (b *Backend) needs(module string, want *render.Desired, policies bool) bool {
	if module == section.ModuleOf(openwrt.Proposals) || policies && module == section.ModuleOf(openwrt.Zones) {
		return true // it has the records, or the zones
	}
	for kind := range b.known {
		if section.ModuleOf(kind) == module {
			return true
		}
	}
	in := func(k section.Key) bool { return k.Module() == module }
	return anyKey(want.Objects, in) || anyKey(want.Keep, in) || anyKey(want.Gone, in) || anyKey(want.Present, in)
}

func anyKey[V any](m map[section.Key]V, is func(section.Key) bool) bool {
	for k := range m {
		if is(k) {
			return true
		}
	}
	return false
}
