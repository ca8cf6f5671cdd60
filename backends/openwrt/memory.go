package openwrt

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// When the container of a CNF restarts, the device forgets everything, but the kernel of the pod does not. All that is then known of it is
// what this process wrote.

// memory is what this process knows to have caused in the kernel of a pod.
type memory struct {
	pod    string
	caused *caused
	// objects are the translations and rules between interfaces that were on the device when it was last read or written. The device does
	// not report them from the kernel.
	objects map[key]openwrt.Object
	strays  map[key]string // what the kernel keeps, and nothing removes
}

// caused are the routes and routing rules that objects of ours stand or stood for, each with the number of readings since one showed it.
type caused struct {
	rules  map[kernelRule]int
	routes map[kernelRoute]int
}

// ruleOf returns what r was caused as; nil if nothing is known to have caused it. If that may be one of several rules, it says so.
func (c *caused) ruleOf(r kernelRule) (*kernelRule, string) {
	if r.table != "" {
		for _, once := range []kernelRule{r, {0, r.not, r.src, r.dst, r.mark, r.table}} {
			if _, ok := c.rules[once]; ok {
				return &once, ""
			}
		}
		return nil, ""
	}
	var out *kernelRule
	for once := range c.rules {
		if !r.is(once) {
			continue
		}
		if out != nil && out.table != once.table {
			return nil, "the device does not show the table of the rule: " + r.String()
		}
		if out == nil || once.prio > 0 {
			out = &once
		}
	}
	return out, ""
}

// routeOf returns what r was caused as; nil if nothing is known to have caused it.
func (c *caused) routeOf(r kernelRoute) *kernelRoute {
	if _, ok := c.routes[r]; ok || r.dev != "" {
		if !ok {
			return nil
		}
		return &r
	}
	for _, once := range slices.SortedFunc(maps.Keys(c.routes), func(a, b kernelRoute) int { return strings.Compare(a.dev, b.dev) }) {
		if r.is(once) {
			return &once
		}
	}
	return nil
}

// forgetRules forgets the rules that too many readings in a row did not show.
func (c *caused) forgetRules(k *kernel) {
	there := map[kernelRule]bool{}
	for r := range k.rules {
		if once, _ := c.ruleOf(r); once != nil {
			there[*once] = true
		}
	}
	for r := range c.rules {
		forget(c.rules, r, there[r], k.readings)
	}
}

// forgetRoutes is forgetRules for the routes of the tables that are reported.
func (c *caused) forgetRoutes(k *kernel) {
	there := map[kernelRoute]bool{}
	for r := range k.routes {
		if once := c.routeOf(r); once != nil {
			there[*once] = true
		}
	}
	for r := range c.routes {
		if k.tables[r.table] {
			forget(c.routes, r, there[r], k.readings)
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

func newMemory() *memory {
	return &memory{
		caused:  &caused{rules: map[kernelRule]int{}, routes: map[kernelRoute]int{}},
		objects: map[key]openwrt.Object{}, strays: map[key]string{},
	}
}

// Succeed implements backends.Successor.
func (b *Backend) Succeed(before backends.Backend) {
	if old, ok := before.(*Backend); ok {
		b.memory, b.pauses, b.rests = old.memory, old.pauses, old.rests
	}
}

// remembers begins to use the memory for a run of a pod; that of another pod is dropped.
func (b *Backend) remembers(run string) *memory {
	pod, _, _ := strings.Cut(run, " ")
	if b.memory == nil || b.memory.pod != pod {
		b.memory = newMemory()
		b.memory.pod = pod
	}
	return b.memory
}

// isLink reports whether objects of a kind are commands of iptables.
func isLink(kind openwrt.Kind) bool { return kind == openwrt.NATs || kind == openwrt.NetworkRules }

// forgotten lists the objects that a device had and does not list any more, although this process did not delete them.
func (m *memory) forgotten(h *inventory) []key {
	var out []key
	for _, k := range sorted(m.objects) {
		if h.objects[k] == nil && !h.unlisted(k.kind) && h.unreadable(k) == "" {
			out = append(out, k)
		}
	}
	return out
}

// update takes in what a device lists. For rules between interfaces that it has forgotten, nothing can be done.
func (m *memory) update(h *inventory, forgotten []key) {
	for _, k := range forgotten {
		if k.kind == openwrt.NetworkRules {
			m.strays[k] = "the device lost it, and cannot delete it in the kernel any more: if it is still there, it stays until the pod is deleted"
			delete(m.objects, k)
		}
	}
	for k, have := range h.objects {
		if isLink(k.kind) {
			m.objects[k] = have.object
		}
	}
}

// skips reports what the kernel keeps, with the intents in want that it is kept of: they are in effect.
func (m *memory) skips(want *desired) []backends.Skip {
	var out []backends.Skip
	for k, why := range m.strays {
		skip := backends.Skip{Intent: k.String(), Reason: why}
		if w := want.objects[k]; w != nil {
			skip.Intent, skip.InEffect = w.intent, true
		}
		out = append(out, skip)
	}
	return out
}
