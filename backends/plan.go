package backends

import (
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
)

// Plan is what has to be written to make a target agree with a snapshot. It is data: print it, count it, refuse it.
type Plan struct {
	Revision intent.Revision // the snapshot's
	Full     bool            // made from read-back of everything owned
	Owned    int             // rows or sections owned in the target before the plan
	// Isolated is how many endpoints the target isolates before the plan, and Leaving how many of them the plan opens:
	// memberships that go without a row going. A backend that cannot tell leaves both zero.
	Isolated, Leaving int
	Ops               []Op   // in the order in which they are safe
	Skips             []Skip // what the target cannot express; it is denied there
	// Resync asks for a plan from read-back before anything else: the backend lost track of the target.
	Resync bool
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

// Verb is what an op does to an object. The zero value is none.
type Verb uint8

// Create makes an object, Update rewrites fields of one, Mutate adds to and removes from a field that holds many values,
// Delete removes an object.
const (
	Create Verb = iota + 1
	Update
	Mutate
	Delete
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
	default:
		return fmt.Sprintf("verb(%d)", uint8(v))
	}
}

// Fields are named values of a native object. Values are strings, integers, booleans, []string (sorted) or
// map[string]string.
type Fields map[string]any

// Op is one write to one native object.
type Op struct {
	Verb  Verb
	Kind  string // the target's own word, such as a table
	Name  string
	Group int // ops of one group are one transaction; groups are applied in ascending order
	// Before and After hold the fields that change: After alone for a Create, Before alone for a Delete. For a Mutate
	// they hold the values that go and the values that come.
	Before Fields `json:",omitempty"`
	After  Fields `json:",omitempty"`
	// Origin says which source objects caused the object, for people.
	Origin string `json:",omitempty"`
	// Native is what Apply sends; only the backend that made the plan understands it.
	Native any `json:"-"`
}

// Skip is an intent that the target cannot express. The backend denies what it would have allowed.
type Skip struct {
	Intent string // the ID of a policy or set
	Reason string
}
