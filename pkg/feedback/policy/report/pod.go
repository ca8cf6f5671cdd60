package report

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Pod is a pod whose protection is asked for.
type Pod struct {
	Key      object.Key
	Policies []Policy // that select it
	// Since is the revision of the snapshot from which on it is as it is now: what it is selected by, and its addresses.
	Since intent.Revision
}

// Protection reports whether each target of w has in force what selects a pod, and if not, why: the reason of the first target that has not,
// and ReasonEnforced if all have. What a target cannot express does not matter here, because it denies it.
func (w *World) Protection(p Pod) (reason, message string) {
	if len(w.targets) == 0 {
		return ReasonNoTarget, "there is no target"
	}
	for i := range w.targets {
		if reason, message = w.protection(&w.targets[i], p); reason != ReasonEnforced {
			return reason, cut(w.targets[i].Name + ": " + message)
		}
	}
	return ReasonEnforced, ""
}

// Lacks reports whether some target of w does not know a pod with an address.
func (w *World) Lacks(key object.Key) bool {
	return slices.ContainsFunc(w.targets, func(t target) bool { return t.Missing.Has(key) })
}

// protection is Protection on one target.
func (w *World) protection(t *target, p Pod) (reason, message string) {
	if gap, missing := t.Missing.Get(p.Key); missing {
		return ReasonPodsWithoutPort, "it does not know the pod: no " + gap.Lacks
	}
	switch {
	case t.Stale:
		return ReasonUnreachable, "its state is unknown: " + t.Trouble
	case t.Trouble != "":
		return ReasonTrouble, t.Trouble
	case t.Revision < p.Since:
		return ReasonWriting, "not written yet"
	}
	for _, policy := range p.Policies {
		if j := w.judged(t, policy); j.reason != ReasonEnforced && j.reason != ReasonSkipped {
			return j.reason, fmt.Sprintf("%s: %s", policy.Key(), j.message)
		}
	}
	return ReasonEnforced, ""
}

// judgment is what judge returns.
type judgment struct{ reason, message string }

// judged is judge for a policy, of which many pods ask.
func (w *World) judged(t *target, p Policy) judgment {
	if t.judged == nil {
		t.judged = map[object.Ref]judgment{}
	}
	j, ok := t.judged[p.Key()]
	if !ok {
		j.reason, j.message = t.judge(w.Snapshot, w.ids(p), w.intentsOf(p))
		t.judged[p.Key()] = j
	}
	return j
}
