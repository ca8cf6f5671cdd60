// Package budget bounds what one source object may cost (Limits, Account), and the objects of a namespace and of all together
// (Shares, Ledger). Work is counted, not timed: an object is within its budget on every machine or on none. The budget is spent
// before the work is done.
package budget

import "fmt"

// Unit is something that an object costs.
type Unit uint8

// The units.
const (
	// Prefixes are those of ipBlocks and source ranges once excepts are subtracted. Those that narrow a named port of an
	// egress rule count once for the name and once for each number that it resolves to.
	Prefixes Unit = iota
	// Selectors are the peers that select pods or namespaces. A named port counts its selectors once more, and again for
	// each number that it resolves to.
	Selectors
	// Values are the labels and values that selectors compare with, counted as often as their selectors.
	Values
	// Rules are ingress and egress rules, and each number that one of their named ports resolves to.
	Rules
	// Ports are the port ranges of rules, merged.
	Ports
	// Frontends are the pairs of an address and a port of a Service, those of node ports on each address of the nodes.
	Frontends
	// Backends are the endpoints behind each port of a Service, once in each family and again for each of its addresses that is not a node's.
	Backends
	// Labels are the labels and named ports of a pod.
	Labels

	units
)

// String returns the name of the unit for display, in the plural.
func (u Unit) String() string {
	names := [units]string{
		"prefixes", "selectors", "selector values", "rules and resolved ports", "port ranges", "frontends", "backends", "labels and named ports",
	}
	if u < units {
		return names[u]
	}
	return fmt.Sprintf("unit(%d)", uint8(u))
}

// Limits is how much of each unit one object may take. Zero means the limit of Default.
type Limits [units]int

// Default returns limits that no reasonable object reaches. At each of them an object costs less than a second of
// processor time and 100 MiB.
func Default() Limits {
	return Limits{
		Prefixes: 20_000, Selectors: 2_000, Values: 20_000, Rules: 4_000, Ports: 4_000, Frontends: 100_000, Backends: 200_000, Labels: 1000,
	}
}

// Open opens an account with nothing spent.
func (l Limits) Open() *Account {
	for u, d := range Default() {
		if l[u] == 0 {
			l[u] = d
		}
	}
	return &Account{left: l, limits: l}
}

// Account is what remains of the limits of one object. The zero value has nothing left.
type Account struct {
	left, limits Limits
	over         error
}

// Spend takes n of a unit and reports whether the object may go on. Once it may not, it never may again. Call it before
// the work, with a cheap estimate.
func (a *Account) Spend(u Unit, n int) bool {
	if a.over != nil {
		return false
	}
	if n > a.left[u] {
		a.Exceed(u)
		return false
	}
	a.left[u] -= n
	return true
}

// Spent returns how much of each unit has been spent since an earlier copy of the account.
func (a *Account) Spent(since Account) Limits {
	var spent Limits
	for u := range units {
		spent[u] = since.left[u] - a.left[u]
	}
	return spent
}

// SpendAll spends some of each unit, and reports whether the object may go on.
func (a *Account) SpendAll(spent Limits) bool {
	for u := range units {
		if !a.Spend(u, spent[u]) {
			return false
		}
	}
	return true
}

// Exceed exhausts the account, after work stopped because it would have taken more of a unit than was left.
func (a *Account) Exceed(u Unit) {
	if a.over == nil {
		a.over = fmt.Errorf("it needs more than %d %s, the limit for one object", a.limits[u], u)
	}
}

// Left returns how much of a unit may still be spent: 0 if the object is over its budget in any unit.
func (a *Account) Left(u Unit) int {
	if a.over != nil {
		return 0
	}
	return a.left[u]
}

// Err returns nil while the object is within its budget, and otherwise an error with the unit of which there is too much.
func (a *Account) Err() error { return a.over }
