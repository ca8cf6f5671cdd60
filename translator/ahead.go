package translator

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// ahead is how much of the large sets of an object, which is put later, snapshots announce. The zero value announces nothing.
type ahead struct {
	of   any
	sets []*intent.Set
	done int // how many prefixes, of all sets together
}

// Prepare makes the next snapshot announce up to that many further prefixes of the large sets of an object that is to be put. It reports
// whether that is all of them, or there are none. Preparing another object withdraws what was announced for the one before; nil only
// withdraws. What was found out about the object is used by the next snapshot if it is put before that. The object must not be changed
// afterwards.
func (t *Translator) Prepare(o any, most int) bool {
	if o == nil || o != t.ahead.of {
		t.ahead = ahead{of: o}
		if np, ok := o.(*networkingv1.NetworkPolicy); ok {
			t.ahead.sets = t.policies.LargeSets(np)
		}
	}
	t.ahead.done += most
	return t.ahead.done >= t.ahead.size()
}

// size counts the prefixes of all sets.
func (a *ahead) size() int {
	n := 0
	for _, s := range a.sets {
		n += len(s.Prefixes)
	}
	return n
}

// announced lists the sets as far as they are announced, but for those that the snapshot before has.
func (a *ahead) announced(was *intent.Snapshot) []intent.Ahead {
	var out []intent.Ahead
	left := a.done
	for _, s := range a.sets {
		ready := min(left, len(s.Prefixes))
		left -= ready
		if ready > 0 && was.Set(s.ID) == nil {
			out = append(out, intent.Ahead{Set: s, Ready: ready})
		}
	}
	return out
}
