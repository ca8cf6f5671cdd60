package openwrt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// kernelPart is what the device reports of the kernel under one name.
type kernelPart struct {
	module  string
	read    func(*kernel.State, json.RawMessage) error // adds a reading; an error says why it makes no sense
	compare func(*kernel.State, *kernel.Held, *kernel.Caused, section.Namer) kernel.Findings
	forget  func(*kernel.Caused, *kernel.State)
}

// inspect compares the kernel with what is held and what was caused, as far as it concerns either and the device reports it.
func (b *Backend) inspect(ctx context.Context, h *device.Inventory) (kernel.Findings, error) {
	rules, routes := len(b.memory.Caused.Rules) > 0, len(b.memory.Caused.Routes) > 0
	for k := range h.Objects {
		routes = routes || k.Kind == openwrt.Routes
		rules = rules || section.InKernel(k.Kind) && k.Kind != openwrt.Routes
	}
	all := kernel.NewFindings()
	h.Unseen = ""
	stored := h.Held()
	for _, part := range []struct {
		kernelPart
		needed bool
	}{
		{kernelPart{"rule", (*kernel.State).ReadRules, (*kernel.State).CompareRules, (*kernel.Caused).ForgetRules}, rules},
		{kernelPart{"route", (*kernel.State).ReadRoutes, (*kernel.State).CompareRoutes, (*kernel.Caused).ForgetRoutes}, routes},
	} {
		if !part.needed {
			continue
		}
		f, unseen, err := b.agreed(ctx, stored, part.kernelPart)
		if err != nil {
			return kernel.Findings{}, err
		}
		if unseen = cmp.Or(unseen, f.Unclear); unseen != "" {
			h.Unseen = "the state of the kernel is unknown: " + unseen
		}
		all.Add(f)
	}
	b.doubtEmpty(h, &all)
	return all, nil
}

// agreed reads a part of the kernel until a reading shows no difference, or enough of them leave the same ones. If the device does not
// say what the kernel has, it returns why.
func (b *Backend) agreed(ctx context.Context, stored *kernel.Held, part kernelPart) (f kernel.Findings, unseen string, err error) {
	k := kernel.NewState()
	for useless := 0; useless < mostUseless; {
		m, err := b.client.ModuleStatus(ctx, part.module)
		switch {
		case err == nil:
		case answered(err), errors.Is(err, openwrt.ErrUnexpected), errors.Is(err, openwrt.ErrNoAnswer) && ctx.Err() == nil:
			return kernel.NewFindings(), err.Error(), nil
		default:
			return kernel.Findings{}, "", reached(err)
		}
		if err := part.read(k, m.Status); err != nil {
			useless, unseen = useless+1, fmt.Sprintf("the device reports under status/%s what cannot be: %v", part.module, err)
			continue
		}
		k.Readings++
		f := part.compare(k, stored, b.memory.Caused, b.names)
		if k.Readings < f.Enough(b.absent) {
			continue
		}
		f.Settle()
		part.forget(b.memory.Caused, k)
		return f, "", nil
	}
	return kernel.NewFindings(), unseen, nil
}

// doubtEmpty leaves out what follows from a table without any route, although the device has objects for it and there were some when the
// kernel was last compared: it counts if it is still so the next time.
func (b *Backend) doubtEmpty(h *device.Inventory, f *kernel.Findings) {
	before := b.filled
	b.filled = map[string]bool{}
	k := kernel.NewState()
	for at, have := range h.Objects {
		if at.Kind != openwrt.Routes {
			continue
		}
		table := k.RouteOf(have.Object).Table
		switch {
		case !f.Empty[table]:
			b.filled[table] = true
		case before[table] && b.absent[at] == "":
			delete(f.Absent, at)
		}
	}
}

// mostUseless is how many readings that make no sense are repeated.
const mostUseless = 8
