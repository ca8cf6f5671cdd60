package backends

import (
	"fmt"
	"time"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Plan is what has to be written to bring a target in sync with a snapshot. It is plain data, to be printed or counted.
type Plan struct {
	Revision intent.Revision `json:"revision"` // the snapshot's
	Full     bool            `json:"full"`     // made from read-back of everything owned
	Owned    int             `json:"owned"`    // rows or sections owned in the target before the plan
	// Objects counts, by kind, the objects that the target has something for before the plan. Lost are those that are not
	// in the snapshot, sorted: what the target has for them is deleted. Kept are those for which it stays, see Keeper.
	// Only plans from read-back have them, if the backend can tell.
	Objects map[string]int `json:"-"`
	Lost    []object.Ref   `json:"lost,omitempty"`
	Kept    []object.Ref   `json:"kept,omitempty"`
	Ops     []Op           `json:"ops"`             // in an order that is safe
	Skips   []Skip         `json:"skips,omitempty"` // what the target cannot express; it is denied there
	// ReadBack is why the plan is Full, if the backend was asked for a plan from changes.
	ReadBack ReadBack `json:"-"`
	// Interval is when the next plan from a read-back follows at the latest; zero for a plan from changes and if none follows.
	Interval time.Duration `json:"-"`
	// Resync asks for a plan from read-back first: the backend has lost track of the target.
	Resync bool `json:"resync,omitempty"`
}

// Empty reports whether nothing has to be written.
func (p *Plan) Empty() bool { return len(p.Ops) == 0 }

// Deletes counts the ops that remove an owned object.
func (p *Plan) Deletes() int {
	n := 0
	for i := range p.Ops {
		if p.Ops[i].Verb == Delete {
			n++
		}
	}
	return n
}

// Drift counts the ops of a plan for a target that was in sync with the snapshot before: zero if they only retry what the
// target refused.
func (p *Plan) Drift() int {
	for i := range p.Ops {
		if !p.Ops[i].Again && p.Ops[i].Verb != Reload {
			return len(p.Ops)
		}
	}
	return 0
}

// Verb is what an op does to an object. The zero value is not a verb.
type Verb uint8

// Create makes an object, Update rewrites fields of one, Mutate adds to and removes from a field that holds many values,
// Delete removes an object. Reload makes what was written take effect, if writing alone does not.
const (
	Create Verb = iota + 1
	Update
	Mutate
	Delete
	Reload
)

// String returns the verb's lower-case name.
func (v Verb) String() string {
	switch v {
	case Create:
		return "create"
	case Update:
		return "update"
	case Mutate:
		return "mutate"
	case Delete:
		return "delete"
	case Reload:
		return "reload"
	default:
		return fmt.Sprintf("verb(%d)", uint8(v))
	}
}

// MarshalText formats a verb by its name, in JSON too.
func (v Verb) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (v *Verb) UnmarshalText(text []byte) error {
	for _, known := range []Verb{Create, Update, Mutate, Delete, Reload} {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}
	return fmt.Errorf("verb %q: expected create, update, mutate, delete or reload", text)
}

// Fields are named values of a native object. Values are strings, integers, booleans, []string (sorted) or
// map[string]string.
type Fields map[string]any

// Op is one write to one native object.
type Op struct {
	Verb  Verb   `json:"verb"`
	Kind  string `json:"kind"` // the target's own word, such as a table
	Name  string `json:"name"`
	Group int    `json:"group"` // ops of one group are one transaction; groups are applied in ascending order
	// Before and After hold the fields that change: only After for a Create, only Before for a Delete. For a Mutate
	// they hold the values that are removed and added.
	Before Fields `json:"before,omitempty"`
	After  Fields `json:"after,omitempty"`
	// Origin names the source objects that caused the object, for display.
	Origin string `json:"origin,omitempty"`
	// Again means that the target refused the same op before: it does not indicate that the target was changed by others.
	Again bool `json:"again,omitempty"`
	// Native is what Apply sends; only the backend that made the plan understands it.
	Native any `json:"-"`
}

// Skip is an intent that the target cannot express. The backend denies what it would have allowed.
type Skip struct {
	Intent string `json:"intent"` // the ID of a policy, set, load balancer or device intent
	Reason string `json:"reason"`
	// InEffect means that the intent is in effect nevertheless: the reason is only to be reported.
	InEffect bool `json:"inEffect,omitempty"`
}
