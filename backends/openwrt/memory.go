package openwrt

import (
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// When the container of a CNF restarts, the device forgets everything, but the kernel of the pod does not. All that is then known of it is
// what this process wrote.

// memory is what this process knows to have caused in the kernel of a pod.
type memory struct {
	pod    string
	caused *kernel.Caused
	// objects are the translations and rules between interfaces that were on the device when it was last read or written. The device does
	// not report them from the kernel.
	objects map[section.Key]openwrt.Object
	strays  map[section.Key]string // what the kernel keeps, and nothing removes
}

func newMemory() *memory {
	return &memory{
		caused:  kernel.NewCaused(),
		objects: map[section.Key]openwrt.Object{}, strays: map[section.Key]string{},
	}
}

// Succeed implements backends.Successor.
func (b *Backend) Succeed(before backends.Backend) {
	if old, ok := before.(*Backend); ok {
		b.memory, b.pauses, b.rests = old.memory, old.pauses, old.rests
	}
}

// remembers begins to use the memory for a run of a pod; that of another pod is dropped.
func (b *Backend) remembers(run string) *memory {
	pod, _, _ := strings.Cut(run, " ")
	if b.memory == nil || b.memory.pod != pod {
		b.memory = newMemory()
		b.memory.pod = pod
	}
	return b.memory
}

// isLink reports whether objects of a kind are commands of iptables.
func isLink(kind openwrt.Kind) bool { return kind == openwrt.NATs || kind == openwrt.NetworkRules }

// forgotten lists the objects that a device had and does not list any more, although this process did not delete them.
func (m *memory) forgotten(h *inventory) []section.Key {
	var out []section.Key
	for _, k := range section.Sorted(m.objects) {
		if h.objects[k] == nil && !h.unlisted(k.Kind) && h.unreadable(k) == "" {
			out = append(out, k)
		}
	}
	return out
}

// update takes in what a device lists. For rules between interfaces that it has forgotten, nothing can be done.
func (m *memory) update(h *inventory, forgotten []section.Key) {
	for _, k := range forgotten {
		if k.Kind == openwrt.NetworkRules {
			m.strays[k] = "the device lost it, and cannot delete it in the kernel any more: if it is still there, it stays until the pod is deleted"
			delete(m.objects, k)
		}
	}
	for k, have := range h.objects {
		if isLink(k.Kind) {
			m.objects[k] = have.object
		}
	}
}

// skips reports what the kernel keeps, with the intents in want that it is kept of: they are in effect.
func (m *memory) skips(want *render.Desired) []backends.Skip {
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
