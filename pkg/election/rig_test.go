package election_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/election/electiontest"
	"github.com/netloom/netloom/pkg/feedback/metrics"
)

// replica is an instance whose work writes a diary.
type replica struct {
	*election.Election
	name   string
	leases *electiontest.Leases
	diary  *diary
	ending time.Duration                   // how long its work takes to end
	early  bool                            // the latest term
	during func(ctx context.Context) error // what the work does besides; nil is nothing
	stop   func()                          // ends it and waits for that
}

// diary is what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, what)
}

// read returns what was added since it was called last.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.lines
	d.lines = nil
	return out
}

// newReplica makes an instance that takes part in the election until the test ends or stops it.
func newReplica(t *testing.T, name string, of *electiontest.Leases, d *diary, change ...func(*replica)) *replica {
	t.Helper()
	r := &replica{name: name, leases: of.Client(), diary: d}
	opts := of.Options(name)
	opts.Leases = r.leases
	opts, err := opts.Complete("netloom", nil)
	require.NoError(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	r.Election = election.New(opts, r.work, metrics.New(), log)
	for _, f := range change {
		f(r)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = func() {
		r.stop = func() {}
		cancel()
		require.NoError(t, <-done)
	}
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *replica) work(ctx context.Context, early bool) error {
	r.early = early
	r.diary.add(r.name + " begins")
	if r.during != nil {
		if err := r.during(ctx); err != nil {
			return err
		}
	}
	<-ctx.Done()
	time.Sleep(r.ending)
	r.diary.add(fmt.Sprintf("%s ends: %v", r.name, context.Cause(ctx)))
	return nil
}
