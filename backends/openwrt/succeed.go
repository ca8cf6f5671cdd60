package openwrt

import (
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
)

// Succeed implements backends.Successor.
func (b *Backend) Succeed(before backends.Backend) {
	if old, ok := before.(*Backend); ok {
		b.memory, b.pauses, b.rests = old.memory, old.pauses, old.rests
	}
}

// remembers begins to use the memory for a run of a pod; that of another pod is dropped.
func (b *Backend) remembers(run string) *device.Memory {
	pod, _, _ := strings.Cut(run, " ")
	if b.memory == nil || b.memory.Pod != pod {
		b.memory = device.NewMemory()
		b.memory.Pod = pod
	}
	return b.memory
}
