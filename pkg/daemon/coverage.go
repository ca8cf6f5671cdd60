package daemon

import "github.com/netloom/netloom/backends"

// unprotected says for people which selected pods the targets do not protect, or only by what was kept; a line for each
// fault. It is empty while another instance writes, and for targets that cannot tell.
func (d *Daemon) unprotected() []string {
	if d.election != nil && !d.election.Leading() {
		return nil
	}
	var lines []string
	for _, t := range d.targets {
		c, _ := backends.CoverageOf(t.Backend)
		for _, fault := range c.Faults() {
			lines = append(lines, "degraded: "+t.Name+": "+fault)
		}
	}
	return lines
}
