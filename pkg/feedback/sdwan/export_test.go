package sdwan

import "github.com/netloom/netloom/pkg/intent"

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

// CNF returns a CNF of the newest snapshot.
func (c *Controller) CNF(id intent.CNFID) *intent.CNF { return c.fleet.latest().CNF(id) }
