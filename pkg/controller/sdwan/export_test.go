package sdwan

// Backlog is how many objects wait to be looked at for their status, or are remembered for that.
func (c *Controller) Backlog() int {
	s := c.statuses
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.open)
	if s.queue != nil {
		n += s.queue.Len()
	}
	return n
}
