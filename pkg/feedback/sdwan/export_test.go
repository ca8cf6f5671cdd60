package sdwan

// Backlog returns how many objects are queued, or may not be on some CNF yet.
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
