package openwrt

import (
	"fmt"

	"github.com/netloom/netloom/pkg/openwrt"
)

// The device reads a whole package of its configuration as one message, which has a limit: beyond it a daemon of the device dies
// at each read, lists arrive empty after half a minute, and nothing else works until it is back.

const (
	// mostBytes is the size that a package may get, as sizeOf estimates it: the limit is 1 MiB.
	mostBytes = 880 << 10
	// denyBytes of it are only for what denies: the rest would be open without it.
	denyBytes = mostBytes / 10
	// mostSections is how many sections a package may get, however small they are.
	mostSections = 2300
)

// measure is the size of a package, or of one object.
type measure struct{ bytes, sections int }

func (m measure) plus(o measure) measure  { return measure{m.bytes + o.bytes, m.sections + o.sections} }
func (m measure) minus(o measure) measure { return measure{m.bytes - o.bytes, m.sections - o.sections} }

// sizeOf estimates what an object adds to the message, from above: the sections that it becomes, with what the device adds to
// each.
func sizeOf(o openwrt.Object) measure {
	const section, option = 112, 12
	m := measure{bytes: section, sections: 1}
	for name, v := range o {
		m.bytes += option + len(name)
		switch v := v.(type) {
		case string:
			m.bytes += len(v)
		case openwrt.Secret:
			m.bytes += len(v)
		case openwrt.Digest: // paths of files
			m.bytes += 4 * (len("/etc/ipsec.d/private/_private_99.pem, ") + len(o.Name()))
		case []string:
			for _, s := range v {
				m.bytes += option + len(s)
			}
		case []openwrt.Object:
			for _, inner := range v {
				m = m.plus(sizeOf(inner))
				m.bytes += 2 * (option + len(o.Name()) + len(inner.Name()))
			}
		}
	}
	return m
}

// size returns the size of what is held, as often as it is there.
func (h *deviceObject) size() measure {
	if h == nil {
		return measure{}
	}
	one, all := sizeOf(h.object), measure{}
	for range h.copies {
		all = all.plus(one)
	}
	return all
}

// grow records that an object was written or removed.
func (h *inventory) grow(k key, before, now *deviceObject) {
	h.sizes[k.module()] = h.sizes[k.module()].minus(before.size()).plus(now.size())
}

// startCounting begins a plan: what it adds is counted, and what it deletes is not, since that comes last.
func (h *inventory) startCounting() { h.added = map[string]measure{} }

// tooMuch returns why an object must not be written because its package would get too large; "" if it may.
func (h *inventory) tooMuch(w *wanted) string {
	module := w.module()
	more := sizeOf(w.object)
	if have := h.objects[w.key]; have != nil {
		more = more.minus(have.size())
	}
	total := h.sizes[module].plus(h.added[module]).plus(more)
	most, sections := mostBytes-denyBytes, mostSections-mostSections/10
	if w.denies {
		most, sections = mostBytes, mostSections
	}
	if (more.bytes > 0 || more.sections > 0) && (total.bytes > most || total.sections > sections) {
		return fmt.Sprintf("not written: the package %s of the device would have %d sections and about %d KiB, and beyond %d sections or %d KiB the device may fail",
			module, total.sections, total.bytes>>10, sections, most>>10)
	}
	h.added[module] = h.added[module].plus(more)
	return ""
}
