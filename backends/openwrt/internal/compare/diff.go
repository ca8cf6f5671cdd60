package compare

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/object"
)

// Diff lists what has to be written, without reloads, in a safe order. Lost objects that are in keep stay.
func (c *Comparison) Diff(keep map[object.Ref]bool) {
	c.missing = map[section.Key]string{}
	c.Have.StartCounting()
	for k := range c.Want.Keep {
		if c.Have.Objects[k] == nil {
			c.missing[k] = "it cannot be written now"
		}
	}
	for _, k := range section.Sorted(c.Want.Objects) { // a kind refers only to those before it
		c.object(c.Want.Objects[k])
	}
	c.findLost(keep)
	for _, k := range section.Sorted(c.Have.Objects) {
		if c.unwanted(k) && !c.stays[k] {
			c.remove(k)
		}
	}
	for _, k := range section.Sorted(c.Want.Gone) {
		if why := c.Have.Unreadable(k); why != "" {
			c.Skips = append(c.Skips, backends.Skip{Intent: c.Want.Gone[k], Reason: why})
		}
	}
	c.staleNotes()
	c.sequence()
	c.handOver()
	c.withdraw()
	c.Order()
}
