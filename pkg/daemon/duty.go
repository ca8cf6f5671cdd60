package daemon

import (
	"cmp"
	"context"
	"time"
)

// lead works while this instance leads, or always where nobody is elected.
func (d *Daemon) lead(ctx context.Context) error {
	if d.election == nil {
		return d.work(ctx)
	}
	return d.election.Run(ctx)
}

// forceGrace is how long after its start an instance may begin the term that is forced. A standby that leads much later, when
// another has gone, is not what was meant.
const forceGrace = 5 * time.Minute

// forces says whether the term that begins now is to be forced.
func (d *Daemon) forces(now time.Time) bool {
	first := !d.led
	d.led = true
	return d.opts.Force && first && now.Sub(d.made) <= forceGrace
}

// term does the work of a leader until ctx ends.
func (d *Daemon) term(ctx context.Context) error {
	force := d.forces(time.Now())
	for _, t := range d.targets {
		d.metrics.Target(t.Name)
		if force {
			t.loop.Force()
		}
	}
	defer func() {
		for _, t := range d.targets {
			d.metrics.Rest(t.Name)
			d.coverage.rest(t.Name)
		}
		d.reportKept()
	}()
	return d.work(ctx)
}

// duty says what there is to tell of what this instance has to do, and what of it is not done yet: targets have to agree if
// it writes, and somebody else has to lead if it does not.
func (d *Daemon) duty() (told, lacking []string) {
	if d.election != nil && !d.election.Leading() {
		line, err := d.election.standby()
		if err != nil {
			return nil, []string{err.Error()}
		}
		return []string{line}, nil
	}
	for _, t := range d.targets {
		s, unclaimed := t.loop.Status(), t.claim.why()
		if s.Synced() && unclaimed == nil {
			continue
		}
		line := "target " + t.Name + " does not agree yet"
		if err := cmp.Or(unclaimed, s.Err); err != nil {
			line += ": " + err.Error()
		}
		lacking = append(lacking, line)
	}
	return nil, lacking
}
