package host

import (
	"maps"
	"math/bits"
	"net/netip"
	"slices"
)

// keptAnswers is for how many names that no object uses any more the answers of DNS are kept.
const keptAnswers = 1000

// Table holds the names that objects use, and the answers of DNS. An answer is kept after its name is no longer used, since
// the resolver does not repeat an answer. It is not safe for concurrent use.
type Table struct {
	users   map[string]int          // how many objects use a name
	answers map[string][]netip.Addr // in order; no entry for a name that was not looked up
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{users: map[string]int{}, answers: map[string][]netip.Addr{}}
}

// Use counts a further object that uses a name.
func (t *Table) Use(name string) { t.users[name]++ }

// Release undoes one Use.
func (t *Table) Release(name string) {
	if t.users[name]--; t.users[name] <= 0 {
		delete(t.users, name)
	}
	if len(t.answers) > len(t.users)+keptAnswers {
		maps.DeleteFunc(t.answers, func(name string, _ []netip.Addr) bool { return t.users[name] == 0 })
	}
}

// Effect is what a new answer changes.
type Effect uint8

// The effects.
const (
	Nothing   Effect = iota
	Addresses        // other addresses
	Standing         // moreover, whether the name resolves, or the Cost of its answer
)

// Set sets the addresses of a name; none means that it does not resolve. A name that was never used is ignored.
func (t *Table) Set(name string, addrs []netip.Addr) Effect {
	was, known := t.answers[name]
	if !known && t.users[name] == 0 {
		return Nothing
	}
	now := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		now = append(now, a.Unmap().WithZone(""))
	}
	slices.SortFunc(now, netip.Addr.Compare)
	now = slices.Compact(now)
	if known && slices.Equal(was, now) {
		return Nothing
	}
	t.answers[name] = now
	if known && cost(was) == cost(now) {
		return Addresses
	}
	return Standing
}

// Cost is what the answer for a name counts in a budget: at least as much as it has addresses, but the same for answers of similar
// length.
func (t *Table) Cost(name string) int { return cost(t.answers[name]) }

// cost rounds the number of addresses up to a power of two.
func cost(addrs []netip.Addr) int {
	if len(addrs) == 0 {
		return 0
	}
	return 1 << bits.Len(uint(len(addrs)-1))
}

// Addrs returns the addresses of a name, in order; false if it was not looked up yet.
func (t *Table) Addrs(name string) ([]netip.Addr, bool) {
	addrs, known := t.answers[name]
	return addrs, known
}

// Names lists the names in use, sorted.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(t.users)) }

// Len counts the names in use.
func (t *Table) Len() int { return len(t.users) }

// Answers counts the answers that are kept.
func (t *Table) Answers() int { return len(t.answers) }
