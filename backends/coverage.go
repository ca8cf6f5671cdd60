package backends

import (
	"fmt"
	"io"
	"iter"
	"strings"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Coverer is a backend that looks up the counterparts of endpoints in its target, such as their logical ports. A policy has no effect on an
// endpoint without one, whatever is written.
type Coverer interface {
	// Coverage reports which of the selected endpoints the target knows, as of the last plan, applied or not. It
	// returns false before the first plan. Any goroutine may call it at any time; its cost does not depend on the number of endpoints.
	Coverage() (Coverage, bool)
}

// CoverageOf returns the coverage of a backend; false if the backend is not a Coverer or has not planned yet.
func CoverageOf(b Backend) (Coverage, bool) {
	if c, ok := b.(Coverer); ok {
		return c.Coverage()
	}
	return Coverage{}, false
}

// Reader is a Coverer that compares what it reads back with what it wants.
type Reader interface {
	// InForce is Coverage before the last plan is applied: endpoints whose isolating rows were not in the target as they are
	// wanted are missing too, until they are written.
	InForce() (Coverage, bool)
}

// InForceOf returns the coverage of a backend without endpoints whose rows it has not written yet, as far as it can tell.
func InForceOf(b Backend) (Coverage, bool) {
	if r, ok := b.(Reader); ok {
		return r.InForce()
	}
	return CoverageOf(b)
}

// Coverage counts the endpoints that policies isolate, and those of them that a target protects. Endpoints without an
// address send and receive nothing and are not counted. It is immutable.
type Coverage struct {
	Selected int // endpoints that some policy isolates in some direction
	Missing  Gaps
	// Kept is how many endpoints are not found with the current settings and are protected only because what the target
	// already has for them was left in place. They are not among Missing.
	Kept int
	// Held is how many places of unknown endpoints, such as logical ports, are left in place as well, because as many
	// as are missing were about to be removed.
	Held int
	// Hint describes what is probably wrong and what to try; "" if nothing is known to be wrong.
	Hint string
}

// Enforced counts the selected endpoints that the target protects.
func (c Coverage) Enforced() int { return c.Selected - c.Missing.Len() }

// Complete reports whether every selected endpoint was found with the settings.
func (c Coverage) Complete() bool { return c.Missing.Len() == 0 && c.Kept == 0 && c.Held == 0 }

// Summary reports how many selected pods are enforced, such as "497 of 500 selected pods are enforced".
func (c Coverage) Summary() string {
	return fmt.Sprintf("%d of %d selected pods are enforced", c.Enforced(), c.Selected)
}

// shownGaps is how many missing endpoints a sentence names.
const shownGaps = 5

// Faults describes, in one sentence each, which pods are not protected, which are protected only because their
// earlier ports are kept, and what to try. It is empty if Complete is true.
func (c Coverage) Faults() []string {
	out := c.Counts()
	if c.Missing.Len() > 0 {
		out[0] += ": " + c.Missing.Text()
	}
	if c.Hint != "" && len(out) > 0 {
		out = append(out, c.Hint)
	}
	return out
}

// Counts describes how many pods are not protected, or only because their earlier ports are kept. It names none of
// them, so anyone may read it.
func (c Coverage) Counts() []string {
	var out []string
	if n := c.Missing.Len(); n > 0 {
		out = append(out, fmt.Sprintf("%d of %d selected pods %s NOT protected", n, c.Selected, areOrIs(n)))
	}
	if c.Kept > 0 {
		out = append(out, fmt.Sprintf("%d of %d selected pods %s protected only by an earlier port that is kept: the configured one is not found",
			c.Kept, c.Selected, areOrIs(c.Kept)))
	}
	if c.Held > 0 {
		out = append(out, fmt.Sprintf("%d ports of unknown pods are kept in place, because as many selected pods are not found", c.Held))
	}
	return out
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Gap is an endpoint that a target does not know.
type Gap struct {
	Endpoint object.Key
	Lacks    string // what was not found, such as "logical port shop_web-0"
}

// Gaps is a set of gaps, one for each endpoint. It is immutable; the zero value is empty.
type Gaps struct{ tree *iradix.Tree[Gap] }

// Len counts the gaps.
func (g Gaps) Len() int {
	if g.tree == nil {
		return 0
	}
	return g.tree.Len()
}

// Has reports whether the endpoint k is missing.
func (g Gaps) Has(k object.Key) bool {
	_, ok := g.Get(k)
	return ok
}

// Get returns the gap of the endpoint k; false if it is not missing.
func (g Gaps) Get(k object.Key) (Gap, bool) {
	if g.tree == nil {
		return Gap{}, false
	}
	return g.tree.Get(gapKey(k))
}

// In returns the gaps of members of a set; nil has none. Its cost depends on the smaller of the two.
func (g Gaps) In(set *intent.Set) Gaps {
	var out []Gap
	switch {
	case g.Len() == 0 || set.Len() == 0:
	case set.Len() < g.Len():
		for e := range set.Members.All() {
			if gap, ok := g.tree.Get(gapKey(e.Key)); ok {
				out = append(out, gap)
			}
		}
	default:
		for gap := range g.All() {
			if set.HasKey(gap.Endpoint) {
				out = append(out, gap)
			}
		}
	}
	return Gaps{}.With(out, nil)
}

// All yields the gaps, ordered by cluster, namespace and name.
func (g Gaps) All() iter.Seq[Gap] {
	return func(yield func(Gap) bool) {
		if g.tree != nil {
			g.tree.Root().Walk(func(_ []byte, gap Gap) bool { return !yield(gap) })
		}
	}
}

// With returns g with the endpoints missing added and those found removed. Its cost depends on their number, not on the
// size of g.
func (g Gaps) With(missing []Gap, found []object.Key) Gaps {
	if len(missing)+len(found) == 0 {
		return g
	}
	tree := g.tree
	if tree == nil {
		tree = iradix.New[Gap]()
	}
	txn := tree.Txn()
	for _, k := range found {
		txn.Delete(gapKey(k))
	}
	for _, gap := range missing {
		txn.Insert(gapKey(gap.Endpoint), gap)
	}
	return Gaps{txn.Commit()}
}

// Text names the first few endpoints with what they lack: "shop/web-0 (no logical port shop_web-0), …".
func (g Gaps) Text() string {
	var parts []string
	for gap := range g.All() {
		if len(parts) == shownGaps {
			parts = append(parts, fmt.Sprintf("and %d more", g.Len()-shownGaps))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (no %s)", gap.Endpoint, gap.Lacks))
	}
	return strings.Join(parts, ", ")
}

// gapKey orders as object.Key.Compare does: a zero byte is in no name.
func gapKey(k object.Key) []byte { return []byte(k.Cluster + "\x00" + k.Namespace + "\x00" + k.Name) }

// Report is a coverage in a form for programs.
type Report struct {
	Selected int `json:"selected"`       // pods that policies select
	Enforced int `json:"enforced"`       // of these, the ones that the target protects
	Kept     int `json:"kept,omitempty"` // of those enforced, the ones that are not found and whose earlier ports are kept
	Held     int `json:"held,omitempty"` // ports of unknown pods that are kept
	// Missing are the first pods that are not protected, as NAMESPACE/NAME.
	Missing []string `json:"missing,omitempty"`
	Faults  []string `json:"faults,omitempty"` // what is wrong, in words
}

// Write prints one line for each fault, and nothing if there is none. A nil Report has no coverage.
func (r *Report) Write(w io.Writer) error {
	if r == nil {
		return nil
	}
	for _, fault := range r.Faults {
		if _, err := fmt.Fprintln(w, "warning:", fault); err != nil {
			return err
		}
	}
	return nil
}

// Complete reports whether every selected pod was found with the settings. It is true for nil.
func (r *Report) Complete() bool { return r == nil || len(r.Faults) == 0 }

// NoneFound reports whether there are selected pods and none of them was found with the settings. It is false for nil.
func (r *Report) NoneFound() bool { return r != nil && r.Selected > 0 && r.Enforced <= r.Kept }

// maxReported is how many missing endpoints a Report lists.
const maxReported = 100

// Report returns c for programs.
func (c Coverage) Report() *Report {
	r := &Report{Selected: c.Selected, Enforced: c.Enforced(), Kept: c.Kept, Held: c.Held, Faults: c.Faults()}
	for gap := range c.Missing.All() {
		if len(r.Missing) == maxReported {
			break
		}
		r.Missing = append(r.Missing, gap.Endpoint.String())
	}
	return r
}
