package daemon

import (
	"fmt"
	"math"
	"time"

	"github.com/netloom/netloom/pkg/intent"
)

// lateAfter is how old an unenforced change may be before /readyz calls it degraded. Most are enforced within milliseconds.
const lateAfter = 30 * time.Second

// unenforced returns the age of the oldest change that some target does not have yet, from when the source noticed it, or of the
// oldest change of a target by others that is not repaired; 0 if all targets have everything, or another instance writes to them.
func (d *Daemon) unenforced() time.Duration {
	if d.election != nil && !d.election.Leading() {
		return 0
	}
	reached := intent.Revision(math.MaxUint64)
	for _, t := range d.targets {
		s := t.loop.Status()
		reached = min(reached, s.Revision)
	}
	first := d.pipeline.Oldest(reached)
	for _, t := range d.targets {
		if s := t.loop.Status(); s.Disturbed != nil && (first.IsZero() || s.Disturbed.Since.Before(first)) {
			first = s.Disturbed.Since
		}
	}
	if first.IsZero() {
		return 0
	}
	return max(0, time.Since(first))
}

// disturbed returns a line for /readyz for each target that was in sync and is not now.
func (d *Daemon) disturbed() []string {
	if d.election != nil && !d.election.Leading() {
		return nil
	}
	var lines []string
	for _, t := range d.targets {
		switch s := t.loop.Status(); {
		case s.Disturbed != nil:
			lines = append(lines, "degraded: "+t.Name+" is "+s.Disturbed.Error())
		case s.Synced() && s.Err != nil:
			lines = append(lines, "degraded: "+t.Name+" is out of sync: "+s.Err.Error())
		}
	}
	return lines
}

// skipped returns a line for /readyz for each target that does not do what some intents ask for.
func (d *Daemon) skipped() []string {
	if d.election != nil && !d.election.Leading() {
		return nil
	}
	var lines []string
	for _, t := range d.targets {
		s := t.loop.Status()
		if skips := s.Denied(); len(skips) > 0 {
			lines = append(lines, fmt.Sprintf("degraded: %s does not do what %d intents ask for, such as %s: %s",
				t.Name, len(skips), skips[0].Intent, skips[0].Reason))
		}
	}
	return lines
}

// late returns a line for /readyz if a change has waited too long.
func (d *Daemon) late() []string {
	if age := d.unenforced(); age > lateAfter {
		return []string{fmt.Sprintf("degraded: the oldest change that is not in force was made %s ago", age.Round(time.Second))}
	}
	return nil
}

// unprotected lists the selected pods that the targets do not protect, or only by what was kept; a line for each fault.
// Without names it counts them: a reader who can reach a pod could learn from the names which others are open. It is empty if
// another instance writes, and for targets that cannot report it.
func (d *Daemon) unprotected(names bool) []string {
	if d.election != nil && !d.election.Leading() {
		return nil
	}
	var lines []string
	for _, t := range d.targets {
		c, _ := d.coverage.Of(t.Name)
		faults := c.Faults()
		if !names {
			faults = c.Counts()
		}
		for _, fault := range faults {
			lines = append(lines, "degraded: "+t.Name+": "+fault)
		}
	}
	return lines
}
