package field

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Faults collects what is wrong with one object.
type Faults struct {
	Of   intent.Origin
	List []object.Problem
}

// most is how many faults of one object are reported. An object may have as many faults as it has fields, and each is a line
// in a log and a part of a status.
const most = 64

// Add adds a fault of a field; "" is the whole object.
func (f *Faults) Add(field, format string, args ...any) {
	switch n := len(f.List); {
	case n > most:
		return
	case n == most:
		field, format, args = "", "only the first %d problems are shown", []any{most}
	}
	f.List = append(f.List, object.Problem{Cluster: f.Of.Cluster, Ref: f.Of.Ref(), Field: field, Message: fmt.Sprintf(format, args...)})
}

// AddOnce is Add for a fault that may be found several times.
func (f *Faults) AddOnce(field, format string, args ...any) {
	if len(f.List) > most {
		return
	}
	f.Add(field, format, args...)
	if last := len(f.List) - 1; slices.Contains(f.List[:last], f.List[last]) {
		f.List = f.List[:last]
	}
}
