package device

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// When the container of a CNF restarts, the device forgets everything, but the kernel of the pod does not. All that is then known of it is
// what this process wrote.

// Memory is what this process knows to have caused in the kernel of a pod.
type Memory struct {
	Pod    string
	Caused *kernel.Caused
	// Objects are the translations and rules between interfaces that were on the device when it was last read or written. The device does
	// not report them from the kernel.
	Objects map[section.Key]openwrt.Object
	strays  map[section.Key]string // what the kernel keeps, and nothing removes
}

// NewMemory returns the memory of a process that has written nothing.
func NewMemory() *Memory {
	return &Memory{
		Caused:  kernel.NewCaused(),
		Objects: map[section.Key]openwrt.Object{}, strays: map[section.Key]string{},
	}
}

// IsLink reports whether objects of a kind are commands of iptables.
func IsLink(kind openwrt.Kind) bool { return kind == openwrt.NATs || kind == openwrt.NetworkRules }

// Forgotten lists the objects that a device had and does not list any more, although this process did not delete them.
func (m *Memory) Forgotten(h *Inventory) []section.Key {
	var out []section.Key
	for _, k := range section.Sorted(m.Objects) {
		if h.Objects[k] == nil && !h.Unlisted(k.Kind) && h.Unreadable(k) == "" {
			out = append(out, k)
		}
	}
	return out
}

// Update takes in what a device lists. For rules between interfaces that it has forgotten, nothing can be done.
func (m *Memory) Update(h *Inventory, forgotten []section.Key) {
	for _, k := range forgotten {
		if k.Kind == openwrt.NetworkRules {
			m.strays[k] = "the device lost it, and cannot delete it in the kernel any more: if it is still there, it stays until the pod is deleted"
			delete(m.Objects, k)
		}
	}
	for k, have := range h.Objects {
		if IsLink(k.Kind) {
			m.Objects[k] = have.Object
		}
	}
}

// Skips reports what the kernel keeps, with the intents in want that it is kept of: they are in effect.
func (m *Memory) Skips(want *render.Desired) []backends.Skip {
	var out []backends.Skip
	for k, why := range m.strays {
		skip := backends.Skip{Intent: k.String(), Reason: why}
		if w := want.Objects[k]; w != nil {
			skip.Intent, skip.InEffect = w.Intent, true
		}
		out = append(out, skip)
	}
	return out
}
