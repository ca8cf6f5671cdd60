// Package state is what is known about the targets at one moment, and what each of them may lack. The statuses of policies and of
// SD-WAN objects are both worked out from it.
//
// A target reports the revision that it was last in sync with; the snapshot lists what changed after that. The target has everything
// that has not changed since then.
package state

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Target is the state of a target. The zero value is one that has not been in sync yet.
type Target struct {
	Revision intent.Revision // the snapshot it was last in sync with; 0 for none
	// Trouble is why the last round failed, or why there is no target although there should be one; "" if nothing is wrong.
	Trouble string
	// Stale is set if it has been in trouble for so long that its content is not known any more.
	Stale bool
	Skips []backends.Skip // what it cannot express or does not accept
	// Wrote is when something of an object was last written to it, in whole seconds, by the object as intent.Origin formats it: of the
	// objects that were written since the process began. Only targets of CNFs record it.
	Wrote map[string]metav1.Time
}

// Facts is what is known at one moment.
type Facts struct {
	Snapshot *intent.Snapshot // not older than any revision of a target
	Problems []object.Problem // what the translator could not understand
	// Now is the time to record, in whole seconds as the API stores it.
	Now metav1.Time
}

// ProblemsOf returns the problems of each object, in their order.
func (f *Facts) ProblemsOf() map[object.Ref][]object.Problem {
	out := map[object.Ref][]object.Problem{}
	for _, p := range f.Problems {
		out[p.Ref] = append(out[p.Ref], p)
	}
	return out
}

// Lag is what a target may lack.
type Lag struct {
	All    bool           // it may lack anything
	Behind intent.Touched // what changed since it was last in sync; empty if All is set

	refusals, remarks map[string]string // by intent
}

// Lag compares a target with the snapshot.
func (f *Facts) Lag(t *Target) Lag {
	out := Lag{refusals: map[string]string{}, remarks: map[string]string{}}
	for _, skip := range t.Skips {
		if skip.InEffect {
			out.remarks[skip.Intent] = skip.Reason
			continue
		}
		out.refusals[skip.Intent] = skip.Reason
	}
	if t.Revision > 0 && t.Revision >= f.Snapshot.Revision() {
		return out
	}
	var known bool
	out.Behind, known = f.Snapshot.TouchedSince(t.Revision)
	out.All = !known
	return out
}

// Refusal returns why a target does not have an intent in effect although it is in sync; false if it has.
func (l *Lag) Refusal(id string) (string, bool) {
	reason, ok := l.refusals[id]
	return reason, ok
}

// Remark returns what there is to report on an intent that is in effect; false if there is nothing.
func (l *Lag) Remark(id string) (string, bool) {
	reason, ok := l.remarks[id]
	return reason, ok
}
