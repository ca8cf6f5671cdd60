package compare

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/object"
)

// Comparison compares what should be on the device with what is.
type Comparison struct {
	Want    *render.Desired
	Have    *device.Inventory
	Names   section.Namer
	Refused map[section.Key]Refusal // what the device rejected, and is not retried now
	Seals   map[section.Key]string  // what notes of certificates would say, as far as this process left them
	Owed    map[string]bool         // services that are reloaded even if nothing is written for them
	Ops     []backends.Op
	Skips   []backends.Skip
	missing map[section.Key]string // what will be missing, and why
	// What findLost finds, sorted, and the objects that stay on the device because of it.
	lost, kept []object.Ref
	stays      map[section.Key]bool
}

// retained reports whether an unwanted object stays because it may belong to an intent that is not known yet.
func (c *Comparison) retained(k section.Key) bool {
	return c.Want.Retain[k.Kind] && c.Want.Gone[k] == ""
}

func (c *Comparison) leaveOut(w *render.Wanted, reason string) {
	c.Skips = append(c.Skips, backends.Skip{Intent: w.Intent, Reason: reason})
	if c.Have.Objects[w.Key] == nil {
		c.missing[w.Key] = reason
	}
}

// unwanted reports whether an object on the device is to be deleted.
func (c *Comparison) unwanted(k section.Key) bool {
	return c.Want.Objects[k] == nil && !c.Want.Keep[k] && !c.retained(k)
}
