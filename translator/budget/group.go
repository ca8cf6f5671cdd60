package budget

import (
	"cmp"
	"fmt"

	"github.com/google/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/owner"
)

// Standing is what an object may do within the budget of its namespace.
type Standing uint8

const (
	// Within is an object that fits in, with all that are older.
	Within Standing = iota
	// Next is the oldest object that does not fit in. Its cost is kept up to date: it fits in as soon as there is room.
	Next
	// Beyond is an object that is newer than one that does not fit in. Its cost need not be known.
	Beyond
)

// entry is an object in a ledger.
type entry struct {
	ref      object.Ref
	created  metav1.Time
	standing Standing
	measured bool // the cost is known
	cost     int64
	terms    []string // that it selects endpoints by, each once
}

// before orders by age, oldest first.
func (e *entry) before(o *entry) bool {
	return cmp.Or(owner.CompareAge(e.created, o.created), e.ref.Compare(o.ref)) < 0
}

// group is the objects that share a budget.
type group struct {
	name    string // of the namespace; "" is cluster-wide objects
	entries *btree.BTreeG[*entry]
	next    *entry // the one that is Next, nil if all are Within
	use     int64  // of those that are Within
}

// groupDegree is the degree of the trees.
const groupDegree = 16

func newGroup(name string) *group {
	return &group{name: name, entries: btree.NewG(groupDegree, (*entry).before)}
}

// newest returns the newest entry that is Within, nil if there is none.
func (g *group) newest() *entry {
	if g.next == nil {
		e, _ := g.entries.Max()
		return e
	}
	var found *entry
	g.entries.DescendLessOrEqual(g.next, func(e *entry) bool {
		if e != g.next {
			found = e
		}
		return found == nil
	})
	return found
}

// after returns the oldest entry that is newer than e, nil if there is none.
func (g *group) after(e *entry) *entry {
	var found *entry
	g.entries.AscendGreaterOrEqual(e, func(o *entry) bool {
		if o != e {
			found = o
		}
		return found == nil
	})
	return found
}

// place returns the standing of a new entry.
func (g *group) place(e *entry) Standing {
	if g.next == nil || e.before(g.next) {
		return Within
	}
	return Beyond
}

// overdraft is a namespace whose objects do not all fit in.
type overdraft struct {
	Namespace string // "" is cluster-wide objects
	Limit     int64  // in bytes
	ByTotal   bool   // the limit is lower than that of a namespace, because all namespaces together are over theirs
	Use       int64  // of those that fit in
	Refused   int    // how many do not
	Largest   object.Ref
	Most      int64 // the cost of the largest of those that fit in, without what it selects
}

// describe says which objects of a group do not fit in, what is used, and what takes most of it.
func (o *overdraft) describe(what, group string) string {
	of := "the cluster-wide " + what
	if o.Namespace != "" {
		of = fmt.Sprintf("the %s of %s %s", what, group, o.Namespace)
	}
	limit := "the limit of a " + group
	if o.ByTotal {
		limit = fmt.Sprintf("its share of the limit of all %s", what)
	}
	out := fmt.Sprintf("%s exceed their budget: %d do not fit. The others take %s of %s, %s",
		of, o.Refused, mebibytes(o.Use), mebibytes(o.Limit), limit)
	if o.Most > 0 {
		out += fmt.Sprintf("; the largest is %s with %s", o.Largest.Path(), mebibytes(o.Most))
	}
	return out
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// overdraft describes g; false if all fit in.
func (g *group) overdraft() (overdraft, bool) {
	if g.next == nil {
		return overdraft{}, false
	}
	out := overdraft{Namespace: g.name, Use: g.use}
	g.entries.Ascend(func(e *entry) bool {
		switch {
		case e.standing != Within:
			out.Refused++
		case e.cost > out.Most:
			out.Largest, out.Most = e.ref, e.cost
		}
		return true
	})
	return out, true
}
