package openwrt

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Unsteady is how often the status of routes and of rules is wrong, from 0 (never) to 1 (always). The kernel itself does not change.
type Unsteady struct {
	// Empty is how often the first table of the routes, in the order of their names, comes without its routes. A device at rest did so for
	// 28 of 60 requests: the script reads the list of tables from one process and the routes of a table from another, and the end of the
	// first interrupts the first read from the second.
	Empty float64
	// Truncated is how often a list ends early, Repeated how often one entry comes twice, and Reordered how often the order changes.
	Truncated, Repeated, Reordered float64
}

// RealUnsteady is what a real device did at rest.
func RealUnsteady() Unsteady { return Unsteady{Empty: 28. / 60} }

// SetUnsteady makes the statuses of routes and rules wrong at random from now on. The zero Unsteady ends that.
func (d *Device) SetUnsteady(how Unsteady, seed uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.unsteady, d.faults.luck = how, rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // chance that can be repeated
}

// unsteadyRoutes spoils the status of routes.
func (f *faults) unsteadyRoutes(status object) {
	if f.unsteady == (Unsteady{}) {
		return
	}
	for i, name := range slices.Sorted(maps.Keys(status)) {
		table, _ := status[name].(object)
		items, _ := table["item"].([]object)
		items = f.unsteadyList(items)
		if i == 0 && f.happens(f.unsteady.Empty) {
			items = []object{}
		}
		status[name] = object{"item": items}
	}
}

// unsteadyList spoils a list.
func (f *faults) unsteadyList(list []object) []object {
	if len(list) == 0 {
		return list
	}
	list = slices.Clone(list)
	if f.happens(f.unsteady.Truncated) {
		list = list[:f.luck.IntN(len(list))]
	}
	if len(list) > 0 && f.happens(f.unsteady.Repeated) {
		i := f.luck.IntN(len(list))
		list = slices.Insert(list, i, list[i])
	}
	if f.happens(f.unsteady.Reordered) {
		f.luck.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

func (f *faults) happens(often float64) bool { return often > 0 && f.luck.Float64() < often }
