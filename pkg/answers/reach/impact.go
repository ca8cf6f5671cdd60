package reach

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// Change is the traffic that a new state lets pass from each of some classes to each of others and the old one did not, and
// the reverse. A place in both From and To is not its own peer.
type Change struct {
	From, To []*Class
	Opened   Traffic
	Closed   Traffic
}

// Pairs yields the places between which the traffic changed.
func (c *Change) Pairs() iter.Seq2[Place, Place] {
	return func(yield func(from, to Place) bool) {
		for _, a := range c.From {
			for _, b := range c.To {
				for _, from := range a.Places {
					for _, to := range b.Places {
						if from != to && !yield(from, to) {
							return
						}
					}
				}
			}
		}
	}
}

// Impact lists the differences between two states, in the order of the classes. Roles are those of places that are not the same endpoint,
// with the same address, in both; nil if all are. A pair of
// classes is in at most one Change; two places outside are in none, since nothing between them depends on policies.
//
// The cost grows with the number of places, and with the pairs of those that the difference is about and of all others, as
// far as policies distinguish these.
func Impact(before, after *intent.Snapshot, places []Place, roles map[Place]*Roles) []Change {
	classes := classify(places, roles, []*index{newIndex(before), newIndex(after)})
	sends, receives := affected(classes)
	var senders, receivers, others []*Class
	for i, c := range classes {
		if sends[i] {
			senders = append(senders, c)
		}
		if receives[i] {
			receivers = append(receivers, c)
		} else {
			others = append(others, c)
		}
	}
	out := slices.Concat(differences(classes, receivers), differences(senders, others))
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(a.From[0].Places[0].Compare(b.From[0].Places[0]), a.To[0].Places[0].Compare(b.To[0].Places[0]))
	})
	return out
}

// affected reports of each class whether it may send, or receive, something else in the second state, whatever the other
// end: because its own policies differ, or because it is in other sets that unchanged policies of others name.
func affected(classes []*Class) (sends, receives []bool) {
	var named [2]map[intent.SetID]bool // by direction: peers in policies that are the same in both states
	for d := range named {
		named[d] = map[intent.SetID]bool{}
		for _, c := range classes {
			if !c.differs(intent.Direction(d)) {
				c.views[0].sides[d].name(named[d])
			}
		}
	}
	for _, c := range classes {
		sends = append(sends, c.differs(intent.Egress) || c.moved(named[intent.Ingress]))
		receives = append(receives, c.differs(intent.Ingress) || c.moved(named[intent.Egress]))
	}
	return sends, receives
}

// differs reports whether the policies of the class in a direction differ in the second state.
func (c *Class) differs(d intent.Direction) bool {
	return !c.views[0].sides[d].equal(&c.views[1].sides[d])
}

// moved reports whether the class is in other sets of some in the second state.
func (c *Class) moved(among map[intent.SetID]bool) bool {
	was, is := c.views[0].sets, c.views[1].sets
	for set := range was {
		if !is[set] && among[set] {
			return true
		}
	}
	for set := range is {
		if !was[set] && among[set] {
			return true
		}
	}
	return false
}

// differences compares what passes from each class of one list to each of another in two states.
func differences(from, to []*Class) []Change {
	if len(from) == 0 || len(to) == 0 {
		return nil
	}
	d := &delta{was: NewTable(0, from, to), now: NewTable(1, from, to), numbers: map[[2]int]int{}, byKey: map[string]int{}, kinds: make([]Change, 1)}
	sources := alike(from, func(i int) []int {
		return []int{d.was.egress.profile[i], d.was.ingress.mark[i], d.now.egress.profile[i], d.now.ingress.mark[i]}
	})
	targets := alike(to, func(j int) []int {
		return []int{d.was.ingress.profile[j], d.was.egress.mark[j], d.now.ingress.profile[j], d.now.egress.mark[j]}
	})
	type column struct {
		kinds []int // by source
		to    []*Class
	}
	var columns []*column
	known := map[[sha256.Size]byte]*column{} // columns can be long
	for _, target := range targets {
		kinds := d.column(target[0], sources)
		sum := sumOf(kinds)
		c := known[sum]
		if c == nil {
			c = &column{kinds: kinds}
			known[sum], columns = c, append(columns, c)
		}
		c.to = append(c.to, pick(to, target)...)
	}
	var out []Change
	for _, c := range columns {
		byKind := map[int][]*Class{}
		for s, kind := range c.kinds {
			if kind != 0 {
				byKind[kind] = append(byKind[kind], pick(from, sources[s])...)
			}
		}
		for kind, classes := range byKind {
			if change, ok := between(classes, c.to); ok {
				change.Opened, change.Closed = d.kinds[kind].Opened, d.kinds[kind].Closed
				out = append(out, change)
			}
		}
	}
	return out
}

// between is a change from some classes to others, without a single place that would be its own peer; false if nothing remains.
func between(from, to []*Class) (Change, bool) {
	if c, one := single(to); one {
		from = slices.DeleteFunc(from, func(f *Class) bool { return f == c })
	}
	if c, one := single(from); one {
		to = slices.DeleteFunc(slices.Clone(to), func(t *Class) bool { return t == c })
	}
	for _, list := range [][]*Class{from, to} {
		slices.SortFunc(list, func(a, b *Class) int { return a.Places[0].Compare(b.Places[0]) })
	}
	return Change{From: from, To: to}, len(from) > 0 && len(to) > 0
}

// single returns the class of a list that has one place in all.
func single(classes []*Class) (*Class, bool) {
	if len(classes) != 1 || len(classes[0].Places) != 1 {
		return nil, false
	}
	return classes[0], true
}

// delta numbers the differences between two tables of the same classes.
type delta struct {
	was, now *Table
	numbers  map[[2]int]int // by the numbers of two kinds of traffic
	byKey    map[string]int // by the keys of what is opened and closed
	kinds    []Change       // by number: Opened and Closed; number 0 is no difference
	old, new []int          // columns, reused
}

// column is the differences of the j-th column, for the first class of each source.
func (d *delta) column(j int, sources [][]int) []int {
	d.old, d.new = d.was.Column(j, d.old), d.now.Column(j, d.new)
	out := make([]int, len(sources))
	for i, source := range sources {
		if a, b := d.old[source[0]], d.new[source[0]]; a != NoTraffic { // then both are not
			out[i] = d.number(a, b)
		}
	}
	return out
}

func (d *delta) number(was, now int) int {
	pair := [2]int{was, now}
	if n, known := d.numbers[pair]; known {
		return n
	}
	a, b := d.was.Kind(was), d.now.Kind(now)
	c, n := Change{Opened: b.Minus(a), Closed: a.Minus(b)}, 0
	if !c.Opened.Empty() || !c.Closed.Empty() {
		key := c.Opened.key() + c.Closed.key()
		if n = d.byKey[key]; n == 0 {
			n, d.kinds = len(d.kinds), append(d.kinds, c)
			d.byKey[key] = n
		}
	}
	d.numbers[pair] = n
	return n
}

// alike groups the indexes of classes of one family that have the same features, in order.
func alike(classes []*Class, features func(i int) []int) [][]int {
	at := map[string]int{}
	var out [][]int
	for i, c := range classes {
		key := []byte{byte(c.Family)}
		for _, f := range features(i) {
			key = binary.AppendUvarint(key, uint64(f)) //nolint:gosec // an index
		}
		n, known := at[string(key)]
		if !known {
			n = len(out)
			at[string(key)], out = n, append(out, nil)
		}
		out[n] = append(out[n], i)
	}
	return out
}

func pick(classes []*Class, indexes []int) []*Class {
	out := make([]*Class, len(indexes))
	for i, n := range indexes {
		out[i] = classes[n]
	}
	return out
}

func sumOf(numbers []int) [sha256.Size]byte {
	b := make([]byte, 0, len(numbers))
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // an index
	}
	return sha256.Sum256(b)
}
