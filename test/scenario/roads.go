package scenario

import (
	"flag"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

var allRoads = flag.Bool("scenario.roads", false, "take every road of every script on every backend")

// walk takes every road, or the first two and every third of the others, by the title of the script, so that all of them are taken by
// many scripts. The first one, as written, defines the rows in which the others must end; the second reads back at each step
// what the first only writes.
func (r *run) walk(t *testing.T) {
	sample := crc32.ChecksumIEEE([]byte(r.title))
	for i, road := range []struct {
		name string
		walk func(t *testing.T)
	}{
		{"as written", r.asWritten},
		{"restart after each step", r.restarts},
		{"everything twice", r.twice},
		{"each state alone", r.alone},
		{"steps squashed", r.squashed},
		{"only the states that are looked at", r.leaps},
		{"objects in reverse order", r.reverse},
		{"states backwards", r.backwards},
		{"every write fails once", r.faults},
	} {
		if i > 1 && !*allRoads && (int(sample%3)+i)%3 > 0 {
			continue
		}
		if !t.Run(road.name, road.walk) {
			return // the other roads would only report it again
		}
		if testing.Short() {
			return // for the race detector one road is enough
		}
		if i == 1 && r.few && !*allRoads {
			return
		}
	}
}

func (r *run) asWritten(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	for i, m := range r.moments {
		if m.restart {
			p.restart(t)
		}
		p.write(t, m.objects)
		p.answers = m.answers
		p.translate(t, false)
		writes := p.target.Writes(t)
		p.reconcileFailing(t, m.fault)
		if m.writes >= 0 && strings.HasPrefix(r.backend, m.writesOn) && (m.writes == 0 || !r.partial) {
			require.Equal(t, m.writes, p.target.Writes(t)-writes, "line %d: %s: writes", m.step.Line, m.step.Text)
		}
		r.check(t, p, i)
	}
}

// to brings p to a moment in one go and checks it.
func (r *run) to(t *testing.T, p *process, i int) {
	t.Helper()
	p.write(t, r.moments[i].objects)
	p.answers = r.moments[i].answers
	p.translate(t, false)
	p.reconcile(t)
	r.check(t, p, i)
}

func (r *run) twice(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	for i := range r.moments {
		r.to(t, p, i)
		writes := p.target.Writes(t)
		p.translate(t, true)
		p.reconcile(t)
		p.reached = 0
		p.reconcile(t)
		require.Equal(t, writes, p.target.Writes(t), "line %d: written again", r.moments[i].step.Line)
		r.check(t, p, i)
	}
}

func (r *run) restarts(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	for i := range r.moments {
		p.restart(t)
		r.to(t, p, i)
	}
}

func (r *run) alone(t *testing.T) {
	for i, m := range r.moments {
		if m.checked() {
			r.to(t, newProcess(t, r.fresh(t)), i)
		}
	}
}

// squashed shows the translator every state and the backend only those with expectations.
func (r *run) squashed(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	for i, m := range r.moments {
		p.write(t, m.objects)
		p.answers = m.answers
		p.translate(t, false)
		if m.checked() {
			p.reconcile(t)
			r.check(t, p, i)
		}
	}
}

func (r *run) leaps(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	for i, m := range r.moments {
		if m.checked() {
			r.to(t, p, i)
		}
	}
}

// reverse builds the last state of the script object by object, from the last in order to the first.
func (r *run) reverse(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	last := len(r.moments) - 1
	all := r.moments[last].objects
	refs := slices.SortedFunc(maps.Keys(all), object.Ref.Compare)
	p.answers = r.moments[last].answers
	some := make(map[object.Ref][]byte)
	for _, ref := range slices.Backward(refs) {
		some[ref] = all[ref]
		p.write(t, some)
		p.translate(t, false)
		p.reconcile(t)
	}
	r.to(t, p, last)
}

func (r *run) backwards(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	p.back = true
	for i := range slices.Backward(r.moments) {
		r.to(t, p, i)
	}
}

func (r *run) faults(t *testing.T) {
	p := newProcess(t, r.fresh(t))
	for i, m := range r.moments {
		p.write(t, m.objects)
		p.answers = m.answers
		p.translate(t, false)
		p.reconcileFailing(t, 1+i%2)
		r.check(t, p, i)
	}
}
