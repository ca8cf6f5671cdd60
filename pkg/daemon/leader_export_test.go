package daemon

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/metrics"
)

// Election is what has work done while this instance leads.
type Election = election

// NewElection makes an election that has some work done.
func NewElection(opts Leader, work func(context.Context) error, log logrus.FieldLogger) *Election {
	return newElection(opts.withDefaults("netloom"), work, metrics.New(), log)
}

// Standby says who leads where this instance does not.
func (e *election) Standby() (string, error) { return e.standby() }

// Confirm asks whether this instance has the Lease.
func (e *election) Confirm(ctx context.Context) bool { return e.confirm(ctx) }

// StatusBacklog is how many objects wait to be looked at for their status, or are remembered for that.
func (d *Daemon) StatusBacklog() int {
	s := d.sdwan.statuses
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dirty) + len(s.open)
}

// Forces says whether the term that begins then is to be forced.
func (d *Daemon) Forces(then time.Time) bool { return d.forces(then) }
