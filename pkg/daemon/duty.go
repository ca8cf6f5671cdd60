package daemon

import (
	"cmp"
	"context"
)

// lead works while this instance leads, or always where nobody is elected.
func (d *Daemon) lead(ctx context.Context) error {
	if d.election == nil {
		return d.work(ctx)
	}
	return d.election.Run(ctx)
}

// term does the work of a leader until ctx ends.
func (d *Daemon) term(ctx context.Context) error {
	for _, t := range d.targets {
		d.metrics.Target(t.Name)
	}
	defer func() {
		for _, t := range d.targets {
			d.metrics.Rest(t.Name)
		}
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
		s := t.loop.Status()
		if s.Synced() {
			continue
		}
		line := "target " + t.Name + " does not agree yet"
		if err := cmp.Or(t.claim.why(), s.Err); err != nil {
			line += ": " + err.Error()
		}
		lacking = append(lacking, line)
	}
	return nil, lacking
}
