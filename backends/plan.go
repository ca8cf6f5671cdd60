package backends

import (
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Plan is what has to be written to make a target agree with a snapshot. It is data: print it, count it.
type Plan struct {
	Revision intent.Revision `json:"revision"` // the snapshot's
	Full     bool            `json:"full"`     // made from read-back of everything owned
	Owned    int             `json:"owned"`    // rows or sections owned in the target before the plan
	// Objects counts, by kind, the objects that the target holds something for before the plan, and Lost are those of them
	// that the snapshot has nothing of, sorted: what the target holds for them goes. Kept are those whose part stays, as
	// Keeper says. Only plans from read-back know, of backends that can tell.
	Objects map[string]int `json:"-"`
	Lost    []object.Ref   `json:"lost,omitempty"`
	Kept    []object.Ref   `json:"kept,omitempty"`
	Ops     []Op           `json:"ops"`             // in the order in which they are safe
	Skips   []Skip         `json:"skips,omitempty"` // what the target cannot express; it is denied there
	// Resync asks for a plan from read-back before anything else: the backend lost track of the target.
	Resync bool `json:"resync,omitempty"`
}

// Empty says that nothing has to be written.
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

// Drift counts the ops of a plan for a target that agreed with the snapshot before: zero when they only try again what the
// target refused.
func (p *Plan) Drift() int {
	for i := range p.Ops {
		if !p.Ops[i].Again && p.Ops[i].Verb != Reload {
			return len(p.Ops)
		}
	}
	return 0
}

// Verb is what an op does to an object. The zero value is none.
type Verb uint8

// Create makes an object, Update rewrites fields of one, Mutate adds to and removes from a field that holds many values,
// Delete removes an object. Reload makes what was written take effect, where writing alone does not.
const (
	Create Verb = iota + 1
	Update
	Mutate
	Delete
	Reload
)

// String is the verb's lower-case name.
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

// MarshalText spells a verb by its name, in JSON too.
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
	// Before and After hold the fields that change: After alone for a Create, Before alone for a Delete. For a Mutate
	// they hold the values that go and the values that come.
	Before Fields `json:"before,omitempty"`
	After  Fields `json:"after,omitempty"`
	// Origin says which source objects caused the object, for people.
	Origin string `json:"origin,omitempty"`
	// Again says that the target refused the very op before: it is no sign that somebody changed the target.
	Again bool `json:"again,omitempty"`
	// Native is what Apply sends; only the backend that made the plan understands it.
	Native any `json:"-"`
}

// Skip is an intent that the target cannot express. The backend denies what it would have allowed.
type Skip struct {
	Intent string `json:"intent"` // the ID of a policy, set, load balancer or device intent
	Reason string `json:"reason"`
}
