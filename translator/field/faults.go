package field

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Problem is something a source object says that could not be translated. The object fails closed: what could not be
// understood allows nothing.
type Problem struct {
	Origin  intent.Origin
	Field   string // path in the object, such as "spec.ingress[0].from[1].ipBlock.cidr"; "" for the whole object
	Message string // what is wrong and what was expected
}

// Error spells p as object: field: message.
func (p Problem) Error() string {
	if p.Field == "" {
		return object.Line(fmt.Sprintf("%s: %s", p.Origin, p.Message))
	}
	return object.Line(fmt.Sprintf("%s: %s: %s", p.Origin, p.Field, p.Message))
}

// Compare orders problems by object, field and message.
func (p Problem) Compare(o Problem) int {
	return cmp.Or(
		cmp.Compare(p.Origin.String(), o.Origin.String()),
		cmp.Compare(p.Field, o.Field),
		cmp.Compare(p.Message, o.Message),
	)
}

// Faults collects what is wrong with one object.
type Faults struct {
	Of   intent.Origin
	List []Problem
}

// most is how many faults of one object are reported. An object may have as many faults as it has fields, and each is a line
// in a log and a part of a status.
const most = 64

// Add notes a fault of a field; "" is the whole object.
func (f *Faults) Add(field, format string, args ...any) {
	switch n := len(f.List); {
	case n > most:
		return
	case n == most:
		field, format, args = "", "there are more problems than the first %d, which are shown", []any{most}
	}
	f.List = append(f.List, Problem{Origin: f.Of, Field: field, Message: fmt.Sprintf(format, args...)})
}

// AddOnce is Add for a fault that may be met several times.
func (f *Faults) AddOnce(field, format string, args ...any) {
	if len(f.List) > most {
		return
	}
	f.Add(field, format, args...)
	if last := len(f.List) - 1; slices.Contains(f.List[:last], f.List[last]) {
		f.List = f.List[:last]
	}
}

// Problems holds the faults of all objects.
type Problems map[object.Ref][]Problem

// Set makes list the faults of an object. An empty one says that nothing is wrong with it.
func (p Problems) Set(of object.Ref, list []Problem) {
	if len(list) == 0 {
		delete(p, of)
		return
	}
	p[of] = list
}

// All lists the faults of every object, in order.
func (p Problems) All() []Problem {
	var all []Problem
	for _, list := range p {
		all = append(all, list...)
	}
	slices.SortFunc(all, Problem.Compare)
	return all
}
