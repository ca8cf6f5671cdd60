package labelcache

import "slices"

// tagEvent is a tag that was created or dropped and not reported yet.
type tagEvent struct {
	tag     Tag
	created bool
}

// settleTags publishes the tags that changed and queues events for those that were created or dropped.
func (c *Cache) settleTags() {
	from := len(c.events)
	for _, f := range c.dirtyTags {
		f.dirty = false
		switch {
		case f.objects.len() > 0:
			if f.slot == 0 {
				f.slot = c.tagSlots.take() + 1
				c.tagIndex.add(hashOf(c.seed, f.tag()), f.slot-1, c.epoch)
				c.queue(f.tag(), true)
			}
			c.tags.set(f.slot-1, &tagState{f.tag(), f.objects}, c.epoch)
		default:
			if f.slot != 0 {
				c.tags.set(f.slot-1, nil, c.epoch)
				c.tagIndex.remove(hashOf(c.seed, f.tag()), f.slot-1, c.epoch)
				c.tagSlots.give(f.slot - 1)
				f.slot = 0
				c.queue(f.tag(), false)
			}
			c.release(f)
		}
	}
	clear(c.dirtyTags)
	c.dirtyTags = c.dirtyTags[:0]
	slices.SortFunc(c.events[from:], func(a, b tagEvent) int { return a.tag.Compare(b.tag) })
}

// queue adds an event, if there is a listener.
func (c *Cache) queue(t Tag, created bool) {
	if created && c.onCreated != nil || !created && c.onDropped != nil {
		c.events = append(c.events, tagEvent{t, created})
	}
}

// deliver reports the queued events in order. While one goroutine does, others leave theirs to it.
func (c *Cache) deliver() {
	for events := c.take(false); len(events) > 0; events = c.take(true) {
		for _, e := range events {
			if e.created {
				c.onCreated(e.tag)
			} else {
				c.onDropped(e.tag)
			}
		}
	}
}

// take empties the queue, unless another goroutine is delivering. The goroutine that gets events delivers until there are none.
func (c *Cache) take(delivering bool) []tagEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delivering != delivering {
		return nil
	}
	events := c.events
	c.events = nil
	c.delivering = len(events) > 0
	return events
}
