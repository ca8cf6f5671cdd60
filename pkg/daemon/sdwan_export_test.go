package daemon

// StatusBacklog is how many objects wait to be looked at for their status, or are remembered for that.
func (d *Daemon) StatusBacklog() int {
	s := d.sdwan.statuses
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dirty) + len(s.open)
}
