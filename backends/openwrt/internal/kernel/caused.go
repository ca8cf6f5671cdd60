package kernel

import (
	"maps"
	"slices"
	"strings"
)

// Caused are the routes and routing rules that objects of ours stand or stood for, each with the number of readings since one showed it.
type Caused struct {
	Rules  map[Rule]int
	Routes map[Route]int
}

// NewCaused returns what a process has caused that has written nothing.
func NewCaused() *Caused {
	return &Caused{Rules: map[Rule]int{}, Routes: map[Route]int{}}
}

// ruleOf returns what r was caused as; nil if nothing is known to have caused it. If that may be one of several rules, it says so.
func (c *Caused) ruleOf(r Rule) (*Rule, string) {
	if r.Table != "" {
		for _, once := range []Rule{r, {0, r.Not, r.Src, r.Dst, r.Mark, r.Table}} {
			if _, ok := c.Rules[once]; ok {
				return &once, ""
			}
		}
		return nil, ""
	}
	var out *Rule
	for once := range c.Rules {
		if !r.is(once) {
			continue
		}
		if out != nil && out.Table != once.Table {
			return nil, "the device does not show the table of the rule: " + r.String()
		}
		if out == nil || once.Prio > 0 {
			out = &once
		}
	}
	return out, ""
}

// RouteOf returns what r was caused as; nil if nothing is known to have caused it.
func (c *Caused) routeOf(r Route) *Route {
	if _, ok := c.Routes[r]; ok || r.dev != "" {
		if !ok {
			return nil
		}
		return &r
	}
	for _, once := range slices.SortedFunc(maps.Keys(c.Routes), func(a, b Route) int { return strings.Compare(a.dev, b.dev) }) {
		if r.is(once) {
			return &once
		}
	}
	return nil
}

// ForgetRules forgets the rules that too many readings in a row did not show.
func (c *Caused) ForgetRules(k *State) {
	there := map[Rule]bool{}
	for r := range k.rules {
		if once, _ := c.ruleOf(r); once != nil {
			there[*once] = true
		}
	}
	for r := range c.Rules {
		forget(c.Rules, r, there[r], k.Readings)
	}
}

// ForgetRoutes is ForgetRules for the routes of the tables that are reported.
func (c *Caused) ForgetRoutes(k *State) {
	there := map[Route]bool{}
	for r := range k.routes {
		if once := c.routeOf(r); once != nil {
			there[*once] = true
		}
	}
	for r := range c.Routes {
		if k.tables[r.Table] {
			forget(c.Routes, r, there[r], k.Readings)
		}
	}
}

// forget counts readings that showed an entry or did not.
func forget[K comparable](entries map[K]int, entry K, shown bool, readings int) {
	switch {
	case shown:
		entries[entry] = 0
	case entries[entry]+readings >= enoughReadings:
		delete(entries, entry)
	default:
		entries[entry] += readings
	}
}
