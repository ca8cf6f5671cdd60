package device

import (
	"fmt"

	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// size returns the size of what is held, as often as it is there.
func (h *Object) size() section.Measure {
	if h == nil {
		return section.Measure{}
	}
	one, all := section.SizeOf(h.Object), section.Measure{}
	for range h.Copies {
		all = all.Plus(one)
	}
	return all
}

// Grow records that an object was written or removed.
func (h *Inventory) Grow(k section.Key, before, now *Object) {
	h.Sizes[k.Module()] = h.Sizes[k.Module()].Minus(before.size()).Plus(now.size())
}

// StartCounting begins a plan: what it adds is counted, and what it deletes is not, since that comes last.
func (h *Inventory) StartCounting() { h.added = map[string]section.Measure{} }

// TooMuch returns why an object must not be written because its package would get too large; "" if it may.
func (h *Inventory) TooMuch(w *render.Wanted) string {
	module := w.Module()
	more := section.SizeOf(w.Object)
	if have := h.Objects[w.Key]; have != nil {
		more = more.Minus(have.size())
	}
	total := h.Sizes[module].Plus(h.added[module]).Plus(more)
	most, sections := section.MostBytes-section.DenyBytes, section.MostSections-section.MostSections/10
	if w.Denies {
		most, sections = section.MostBytes, section.MostSections
	}
	if (more.Bytes > 0 || more.Sections > 0) && (total.Bytes > most || total.Sections > sections) {
		return fmt.Sprintf("not written: the package %s of the device would have %d sections and about %d KiB, and beyond %d sections or %d KiB the device may fail",
			module, total.Sections, total.Bytes>>10, sections, most>>10)
	}
	h.added[module] = h.added[module].Plus(more)
	return ""
}

// PartsOf counts the files of a remote that may be on the device. Without a note there may be any number of each that it shows.
func (h *Inventory) PartsOf(names section.Namer, remote string) section.Parts {
	var out section.Parts
	known := false
	for note := range h.Notes {
		if n, of, ok := names.PartsIn(note); ok && of == remote {
			known = true
			for i := range out {
				out[i] = max(out[i], n[i])
			}
		}
	}
	on := h.Objects[section.Key{Kind: openwrt.Remotes, Name: remote}]
	if known || on == nil {
		return out
	}
	for i, field := range section.WriteOnlyFields() {
		if d, ok := on.Object[field].(openwrt.Digest); ok && !d.Withdrawn() {
			out[i] = section.MostParts
		}
	}
	return out
}
