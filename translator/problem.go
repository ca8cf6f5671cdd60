package translator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
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
		return fmt.Sprintf("%s: %s", p.Origin, p.Message)
	}
	return fmt.Sprintf("%s: %s: %s", p.Origin, p.Field, p.Message)
}

func (p Problem) compare(o Problem) int {
	return cmp.Or(
		cmp.Compare(p.Origin.String(), o.Origin.String()),
		cmp.Compare(p.Field, o.Field),
		cmp.Compare(p.Message, o.Message),
	)
}

// problems collects the faults of one object.
type problems struct {
	of   intent.Origin
	list []Problem
}

// mostProblems is how many faults of one object are reported. An object may have as many faults as it has fields, and each
// is a line in a log and a part of a status.
const mostProblems = 64

func (p *problems) add(field, format string, args ...any) {
	switch n := len(p.list); {
	case n > mostProblems:
		return
	case n == mostProblems:
		field, format, args = "", "there are more problems than the first %d, which are shown", []any{mostProblems}
	}
	p.list = append(p.list, Problem{Origin: p.of, Field: field, Message: fmt.Sprintf(format, args...)})
}

// addOnce is add for a fault that may be met several times.
func (p *problems) addOnce(field, format string, args ...any) {
	if len(p.list) > mostProblems {
		return
	}
	p.add(field, format, args...)
	if last := len(p.list) - 1; slices.Contains(p.list[:last], p.list[last]) {
		p.list = p.list[:last]
	}
}
