package ovn

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// coverage holds the endpoints that policies isolate, and those of them that have no logical port.
type coverage struct {
	isolated map[object.Key]directions // those with an address
	kept     map[object.Key]bool       // those of them that have no logical port but kept ones
	portless backends.Gaps             // if everything was counted: isolated endpoints without a logical port, with or without an address
	now      backends.Coverage
}

// directions is a set of directions; zero means none.
type directions uint8

func directionOf(d intent.Direction) directions { return 1 << d }

// coverageOf checks all endpoints that a snapshot isolates.
func coverageOf(want *intent.Snapshot, ports portFinder) *coverage {
	c := &coverage{isolated: map[object.Key]directions{}, kept: map[object.Key]bool{}}
	var all []backends.Gap
	portless := map[object.Key]bool{}
	for _, d := range intent.Directions() {
		set := want.Set(intent.IsolatedSet(d))
		if set == nil || set.Members == nil {
			continue
		}
		for e := range set.Members.All() {
			if gap, ok := ports.gap(e.Key); ok && !portless[e.Key] {
				portless[e.Key], all = true, append(all, gap)
			}
			if len(e.Addrs) > 0 {
				c.isolated[e.Key] |= directionOf(d)
			}
		}
	}
	missing := slices.DeleteFunc(slices.Clone(all), func(g backends.Gap) bool { return c.isolated[g.Endpoint] == 0 })
	for k := range ports.kept {
		if c.isolated[k] != 0 && ports.onlyKept(k) {
			c.kept[k] = true
		}
	}
	c.portless = backends.Gaps{}.With(all, nil)
	c.now = backends.Coverage{
		Selected: len(c.isolated), Missing: backends.Gaps{}.With(missing, nil), Kept: len(c.kept),
	}
	return c
}

// coverageStep is what changes turn a coverage into.
type coverageStep struct {
	touched map[object.Key]directions // those that may be isolated otherwise than before
	full    *coverage                 // instead of touched: everything was counted again
	now     backends.Coverage
}

// step computes the effect of changes and of ports that appeared or disappeared on c, without changing c. The cost
// depends on what changed.
func (c *coverage) step(want *intent.Snapshot, changes []intent.Change, moved []object.Key, ports portFinder) *coverageStep {
	s := &coverageStep{touched: map[object.Key]directions{}, now: c.now}
	for i := range changes {
		if slices.ContainsFunc(changes[i].Sets, isolates) {
			s.full = coverageOf(want, ports)
			s.now.Selected, s.now.Missing, s.now.Kept = s.full.now.Selected, s.full.now.Missing, s.full.now.Kept
			return s.settle()
		}
		for j := range changes[i].Members {
			c.take(s.touched, &changes[i].Members[j])
		}
	}
	for _, k := range moved {
		if _, ok := s.touched[k]; !ok && c.isolated[k] != 0 {
			s.touched[k] = c.isolated[k]
		}
	}
	var missing []backends.Gap
	var found []object.Key
	for k, is := range s.touched {
		s.now.Selected += one(is != 0) - one(c.isolated[k] != 0)
		s.now.Kept += one(is != 0 && ports.onlyKept(k)) - one(c.kept[k])
		gap, lacks := ports.gap(k)
		switch had := c.now.Missing.Has(k); {
		case is != 0 && lacks && !had:
			missing = append(missing, gap)
		case had && (is == 0 || !lacks):
			found = append(found, k)
		}
	}
	s.now.Missing = c.now.Missing.With(missing, found)
	return s.settle()
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// settle drops the hint once nothing is missing.
func (s *coverageStep) settle() *coverageStep {
	if s.now.Complete() {
		s.now.Hint = ""
	}
	return s
}

func isolates(id intent.SetID) bool {
	return id == intent.IsolatedIngress || id == intent.IsolatedEgress
}

// take records which endpoints joined and left an isolated set. One that got an address is in both, as it was and as it is.
func (c *coverage) take(touched map[object.Key]directions, delta *intent.SetDelta) {
	for _, d := range intent.Directions() {
		if delta.ID != intent.IsolatedSet(d) {
			continue
		}
		at := func(k object.Key) directions {
			if is, ok := touched[k]; ok {
				return is
			}
			return c.isolated[k]
		}
		for i := range delta.Left {
			k := delta.Left[i].Key
			touched[k] = at(k) &^ directionOf(d)
		}
		for i := range delta.Joined {
			if e := &delta.Joined[i]; len(e.Addrs) > 0 {
				touched[e.Key] = at(e.Key) | directionOf(d)
			}
		}
	}
}

// commit applies a step to c.
func (c *coverage) commit(s *coverageStep, ports portFinder) {
	if s.full != nil {
		*c = *s.full
		s.touched = nil
	}
	for k, is := range s.touched {
		delete(c.isolated, k)
		delete(c.kept, k)
		if is != 0 {
			c.isolated[k] = is
		}
		if is != 0 && ports.onlyKept(k) {
			c.kept[k] = true
		}
	}
	c.now = s.now
}
