package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// coverage holds the endpoints that policies isolate or deny traffic to or from, and those of them that have no logical port.
type coverage struct {
	governing map[intent.SetID]bool // the sets of such endpoints
	governed  map[object.Key]int    // those with an address, and how many of the sets they are in; never 0
	kept      map[object.Key]bool   // those of them that have no logical port but kept ones
	portless  backends.Gaps         // if everything was counted: governed endpoints without a logical port, with or without an address
	now       backends.Coverage
}

// governing returns the sets of the endpoints that policies isolate, and of those that rules of ordered tiers deny something.
func governing(want *intent.Snapshot) map[intent.SetID]bool {
	out := map[intent.SetID]bool{}
	for _, d := range intent.Directions() {
		out[intent.IsolatedSet(d)] = true
	}
	for _, t := range intent.Tiers() {
		if !t.Ordered() {
			continue
		}
		for p := range want.Ranked(t) {
			if slices.ContainsFunc(p.Rules, func(r intent.Rule) bool { return r.Action == intent.Deny }) {
				out[p.Subject] = true
			}
		}
	}
	return out
}

// coverageOf checks all endpoints that the policies of a snapshot govern.
func coverageOf(want *intent.Snapshot, ports portFinder) *coverage {
	c := &coverage{governing: governing(want), governed: map[object.Key]int{}, kept: map[object.Key]bool{}}
	var all []backends.Gap
	portless := map[object.Key]bool{}
	for id := range c.governing {
		set := want.Set(id)
		if set == nil || set.Members == nil {
			continue
		}
		for e := range set.Members.All() {
			if gap, ok := ports.gap(e.Key); ok && !portless[e.Key] {
				portless[e.Key], all = true, append(all, gap)
			}
			if len(e.Addrs) > 0 {
				c.governed[e.Key]++
			}
		}
	}
	missing := slices.DeleteFunc(slices.Clone(all), func(g backends.Gap) bool { return c.governed[g.Endpoint] == 0 })
	for k := range ports.kept {
		if c.governed[k] != 0 && ports.onlyKept(k) {
			c.kept[k] = true
		}
	}
	c.portless = backends.Gaps{}.With(all, nil)
	c.now = backends.Coverage{
		Selected: len(c.governed), Missing: backends.Gaps{}.With(missing, nil), Kept: len(c.kept),
	}
	return c
}

// coverageStep is what changes turn a coverage into.
type coverageStep struct {
	touched map[object.Key]int // those that may be in another number of governing sets than before
	full    *coverage          // instead of touched: everything was counted again
	now     backends.Coverage
}

// step computes the effect of changes and of ports that appeared or disappeared on c, without changing c. The cost
// depends on what changed.
func (c *coverage) step(want *intent.Snapshot, changes []intent.Change, moved []object.Key, ports portFinder) *coverageStep {
	s := &coverageStep{touched: map[object.Key]int{}, now: c.now}
	for i := range changes {
		if c.outdated(want, &changes[i]) {
			s.full = coverageOf(want, ports)
			s.now.Selected, s.now.Missing, s.now.Kept = s.full.now.Selected, s.full.now.Missing, s.full.now.Kept
			return s.settle()
		}
		for j := range changes[i].Members {
			c.take(s.touched, &changes[i].Members[j])
		}
	}
	for _, k := range moved {
		if _, ok := s.touched[k]; !ok && c.governed[k] != 0 {
			s.touched[k] = c.governed[k]
		}
	}
	var missing []backends.Gap
	var found []object.Key
	for k, is := range s.touched {
		s.now.Selected += one(is != 0) - one(c.governed[k] != 0)
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

// outdated reports whether other sets govern after a change, or a set that does has other members than changes report.
func (c *coverage) outdated(want *intent.Snapshot, change *intent.Change) bool {
	if slices.ContainsFunc(change.Sets, func(id intent.SetID) bool { return c.governing[id] }) {
		return true
	}
	const always = 2 // the sets of isolated endpoints
	return (want.Tiered() || len(c.governing) > always) && len(change.Policies) > 0 && !maps.Equal(governing(want), c.governing)
}

// take records which endpoints joined and left a governing set. An endpoint that got an address is in both lists: without it in one,
// with it in the other.
func (c *coverage) take(touched map[object.Key]int, delta *intent.SetDelta) {
	if !c.governing[delta.ID] {
		return
	}
	count := func(list []intent.Endpoint, by int) {
		for i := range list {
			e := &list[i]
			if _, ok := touched[e.Key]; !ok {
				touched[e.Key] = c.governed[e.Key]
			}
			if len(e.Addrs) > 0 {
				touched[e.Key] += by
			}
		}
	}
	count(delta.Left, -1)
	count(delta.Joined, 1)
}

// commit applies a step to c.
func (c *coverage) commit(s *coverageStep, ports portFinder) {
	if s.full != nil {
		*c = *s.full
		s.touched = nil
	}
	for k, is := range s.touched {
		delete(c.governed, k)
		delete(c.kept, k)
		if is != 0 {
			c.governed[k] = is
		}
		if is != 0 && ports.onlyKept(k) {
			c.kept[k] = true
		}
	}
	c.now = s.now
}
