package tungsten

import (
	"fmt"

	"github.com/netloom/netloom/backends"
)

// Within a phase, every write opens or every write closes, and none needs another: so their order does not matter, and several requests are
// sent at once. Those that change one object follow each other, and so do those for one VIP. A phase begins when the one before it has ended.

// maxInFlight is how many requests of a phase are sent at once.
const maxInFlight = 8

// request is an op of a round.
type request struct {
	write

	op  *backends.Op
	err error
}

// rounds is what is left of a phase: requests by what they change, in the order of the plan.
type rounds struct {
	ready []string // what the next round may change
	taken []string // what this one does
	by    map[string][]request
}

func newRounds(ops []backends.Op) (*rounds, error) {
	out := &rounds{by: map[string][]request{}}
	for i := range ops {
		op := &ops[i]
		w, ok := op.Native.(write)
		if !ok {
			return nil, fmt.Errorf("apply %s %s: %w", op.Kind, op.Name, errForeign)
		}
		of := w.changes()
		if out.by[of] == nil {
			out.ready = append(out.ready, of)
		}
		out.by[of] = append(out.by[of], request{write: w, op: op})
	}
	return out, nil
}

// next takes a request for the present round; false if there is none.
func (r *rounds) next() (request, bool) {
	if len(r.ready) == 0 {
		return request{}, false
	}
	of := r.ready[0]
	r.ready = r.ready[1:]
	out := r.by[of][0]
	if r.by[of] = r.by[of][1:]; len(r.by[of]) > 0 {
		r.taken = append(r.taken, of)
	}
	return out, true
}

// finish ends a round.
func (r *rounds) finish() {
	r.ready, r.taken = append(r.ready, r.taken...), nil
}

// endOfPhase returns where the phase of the i-th op ends.
func endOfPhase(ops []backends.Op, i int) int {
	phaseOf := func(i int) (phase, bool) {
		w, ok := ops[i].Native.(write)
		return w.phase, ok
	}
	first, ours := phaseOf(i)
	for i++; i < len(ops); i++ {
		if p, ok := phaseOf(i); p != first || ok != ours {
			break
		}
	}
	return i
}
