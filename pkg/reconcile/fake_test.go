package reconcile_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
)

var errDown = errors.New("target is down")

// target is a backend that has one row for each set of a snapshot. It keeps state, is slow and fails on demand.
type target struct {
	mu        sync.Mutex
	rows      map[string]bool
	failPlan  int // this many plans fail, with fault
	fault     error
	failApply int // this many applies fail after the first op
	resync    int // this many plans ask for read-back
	slow      time.Duration
	wakes     chan struct{}
	plans     []planned
	applies   int
	closed    bool

	keep     map[string]bool
	unseen   error           // why nobody sees changes
	tampered map[string]bool // rows that another client deleted and nothing has repaired
	blind    bool            // which rows it was is not known
	repairs  int             // of single rows
}

type planned struct {
	at    time.Time
	since intent.Revision
}

func newTarget() *target {
	return &target{rows: map[string]bool{}, fault: errDown, wakes: make(chan struct{}, 1)}
}

func (t *target) Wake() <-chan struct{} { return t.wakes }

func (t *target) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := pause(ctx, t.slow); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plans = append(t.plans, planned{time.Now(), since})
	if t.failPlan > 0 {
		t.failPlan--
		return nil, t.fault
	}
	p := &backends.Plan{Revision: want.Revision(), Objects: map[string]int{}}
	if t.resync > 0 {
		t.resync--
		p.Resync = true
		return p, nil
	}
	if _, ok := want.Since(since); !ok {
		t.tampered = nil
	}
	wanted := map[string]bool{}
	for s := range want.Sets() {
		wanted[string(s.ID)] = true
	}
	looked := map[string]bool{}
	changes, ok := want.Since(since)
	if p.Full = !ok; p.Full {
		p.Owned = len(t.rows)
		p.Objects["row"] = len(t.rows)
		maps.Copy(looked, wanted)
		maps.Copy(looked, t.rows)
	}
	for _, c := range changes {
		for _, id := range c.Sets {
			looked[string(id)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(looked)) {
		switch {
		case wanted[name] && !t.rows[name]:
			p.Ops = append(p.Ops, backends.Op{Verb: backends.Create, Kind: "row", Name: name})
		case !wanted[name] && t.rows[name] && p.Full && t.keep[name]:
			p.Kept = append(p.Kept, object.Ref{Kind: "row", Name: name})
		case !wanted[name] && t.rows[name]:
			if p.Full {
				p.Lost = append(p.Lost, object.Ref{Kind: "row", Name: name})
			}
			p.Ops = append(p.Ops, backends.Op{Verb: backends.Delete, Kind: "row", Name: name})
		}
		if name == "odd" && wanted[name] {
			p.Skips = append(p.Skips, backends.Skip{Intent: name, Reason: "odd sets have no row"})
		}
	}
	return p, nil
}

func (t *target) Keep(objects []object.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep = map[string]bool{}
	for _, o := range objects {
		t.keep[o.Name] = true
	}
}

func (t *target) Apply(ctx context.Context, p *backends.Plan) error {
	if err := pause(ctx, t.slow); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.applies++
	for i, op := range p.Ops {
		if t.failApply > 0 && i > 0 {
			t.failApply--
			return errDown
		}
		if op.Verb == backends.Delete {
			delete(t.rows, op.Name)
		} else {
			t.rows[op.Name] = true
		}
	}
	return nil
}

func (t *target) Close() error {
	t.closed = true
	return nil
}

func (t *target) ChangedByOthers() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tampered) > 0
}

func (t *target) Foreign() *backends.Foreign {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &backends.Foreign{Unknown: t.blind}
	for name := range t.tampered {
		f.Objects = append(f.Objects, backends.ForeignObject{Kind: "row", Name: name})
	}
	f.All = len(f.Objects)
	f.Sort()
	return f
}

func (t *target) Repair(ctx context.Context) (*backends.Plan, error) {
	if err := pause(ctx, t.slow); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &backends.Plan{Resync: t.blind}
	if t.blind {
		return p, nil
	}
	t.repairs++
	for _, name := range slices.Sorted(maps.Keys(t.tampered)) {
		p.Ops = append(p.Ops, backends.Op{Verb: backends.Create, Kind: "row", Name: name})
	}
	t.tampered = nil
	return p, nil
}

func (t *target) Blind() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unseen
}

// hide lets nobody see t for a reason, nil ends that.
func (t *target) hide(why error) {
	t.mu.Lock()
	t.unseen = why
	t.mu.Unlock()
	t.poke()
}

func (t *target) Writers(context.Context) string { return "ptcp:6641 (2 clients)" }

// tamper deletes a row, and the target notices.
func (t *target) tamper(name string) {
	t.mu.Lock()
	delete(t.rows, name)
	if t.tampered == nil {
		t.tampered = map[string]bool{}
	}
	t.tampered[name] = true
	t.mu.Unlock()
	t.poke()
}

// stray puts unwanted rows into t.
func (t *target) stray(names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range names {
		t.rows[n] = true
	}
}

// poke does what a new port does.
func (t *target) poke() {
	select {
	case t.wakes <- struct{}{}:
	default:
	}
}

// names lists the rows of t.
func (t *target) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.rows))
}

// sinces lists what the plans so far started from.
func (t *target) sinces() []intent.Revision {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]intent.Revision, 0, len(t.plans))
	for _, p := range t.plans {
		out = append(out, p.since)
	}
	return out
}

// gaps lists the time between one plan and the next.
func (t *target) gaps() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(t.plans); i++ {
		out = append(out, t.plans[i].at.Sub(t.plans[i-1].at))
	}
	return out
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// source hands out the newest snapshot.
type source struct {
	mu   sync.Mutex
	snap *intent.Snapshot
}

func (s *source) latest() *intent.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snap
}

// put makes a snapshot with these sets added to those that are there.
func (s *source) put(ids ...string) {
	s.change(func(b *intent.Builder) {
		for _, id := range ids {
			b.CreateSet(&intent.Set{ID: intent.SetID(id)})
		}
	})
}

// drop makes a snapshot without these sets.
func (s *source) drop(ids ...string) {
	s.change(func(b *intent.Builder) {
		for _, id := range ids {
			b.DropSet(intent.SetID(id))
		}
	})
}

func (s *source) change(edit func(*intent.Builder)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snap == nil {
		s.snap = intent.NewSnapshot()
	}
	b := s.snap.Next()
	edit(b)
	s.snap = b.Commit()
}

// diary is an observer that records what it observes.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) Planned(_ string, _ *backends.Plan, _ time.Duration) { d.add("planned") }
func (d *diary) Applied(_ string, _ *backends.Plan, _ time.Duration) { d.add("applied") }
func (d *diary) Failed(_ string, phase reconcile.Phase, _ error)     { d.add("failed " + string(phase)) }
func (d *diary) Drift(string, int)                                   { d.add("drift") }
func (d *diary) Disturbed(_ string, of *reconcile.Disturbance) {
	switch {
	case of == nil:
		d.add("calm")
	case of.Contested:
		d.add("contested")
	default:
		d.add("disturbed")
	}
}

func (d *diary) Blind(_ string, why error) {
	if why == nil {
		d.add("sees")
	} else {
		d.add("blind")
	}
}
func (d *diary) Converged(string, intent.Revision, int) { d.add("converged") }
