// Package memorytest makes the in-process store of package memory a target under test.
package memorytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/memory"
	"github.com/netloom/netloom/pkg/intent"
)

// Target is a memory.Target with what the contract needs.
type Target struct {
	*memory.Target
	foreign []memory.Row
}

// New makes an empty target.
func New(testing.TB) backendtest.Target { return &Target{Target: memory.NewTarget()} }

// Open makes a backend for the rows of owner.
func (t *Target) Open(_ testing.TB, owner string) backends.Backend {
	return memory.New(t.Target, owner)
}

// Dump formats the rows of all owners.
func (t *Target) Dump(testing.TB) string { return t.Target.Dump() }

// DumpOwner formats the rows of one owner.
func (t *Target) DumpOwner(_ testing.TB, owner string) string {
	var b strings.Builder
	for _, r := range t.Rows(owner) {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}

// Verdict judges a flow from the rows.
func (t *Target) Verdict(_ testing.TB, f intent.Flow) backendtest.Verdict {
	return backendtest.Verdict(t.Target.Verdict(f))
}

// Prepare does nothing: endpoints depend on nothing here.
func (t *Target) Prepare(testing.TB, []intent.Endpoint, []*intent.Node) {}

// AddForeign adds rows that have no owner and one that looks like a backend's own.
func (t *Target) AddForeign(testing.TB) {
	t.foreign = []memory.Row{
		{Owner: "", Kind: "set", Name: "all", Fields: backends.Fields{"addresses": []string{"10.0.0.1"}}},
		{Owner: "", Kind: "switch", Name: "join", Fields: backends.Fields{"subnet": "100.64.0.0/16"}},
	}
	for _, r := range t.foreign {
		t.Put(r)
	}
}

// ForeignIntact reports whether these rows are as AddForeign made them.
func (t *Target) ForeignIntact(testing.TB) bool {
	return slices.EqualFunc(t.Rows(""), t.foreign, func(a, b memory.Row) bool { return a.String() == b.String() })
}

// SaveClaim saves the record of an owner's claims.
func (t *Target) SaveClaim(_ testing.TB, owner string) (restore func()) {
	was := t.ClaimOf(owner)
	return func() { t.SetClaim(owner, was) }
}

// Writes counts the transactions.
func (t *Target) Writes(testing.TB) int { return t.Target.Writes() }

// Dangling lists the missing sets that rows name.
func (t *Target) Dangling(testing.TB) []string { return t.Target.Dangling() }

// harm is one kind of damage: to the first row of its kind that it can change.
type harm struct {
	what string
	kind string
	// spoil changes r and returns how; nothing if it cannot change r.
	spoil func(r *memory.Row) verb
}

type verb int

const (
	nothing verb = iota
	change
	vanish
	appear
)

func harms() []harm {
	return []harm{
		{"a set is deleted", "set", func(*memory.Row) verb { return vanish }},
		{"a rule is deleted", "rule", func(*memory.Row) verb { return vanish }},
		{"an isolation is deleted", "isolation", func(*memory.Row) verb { return vanish }},
		{"a set loses a member", "set", func(r *memory.Row) verb { return shorten(r, "members") }},
		{"a set loses an address", "set", func(r *memory.Row) verb { return shorten(r, "addresses") }},
		{"a set gains an address", "set", func(r *memory.Row) verb {
			r.Fields["addresses"] = []string{"192.0.2.66"}
			return change
		}},
		{"a set gains a prefix", "set", func(r *memory.Row) verb {
			r.Fields["prefixes"] = []string{"192.0.2.0/24"}
			return change
		}},
		{"a rule opens its ports", "rule", func(r *memory.Row) verb {
			if r.Fields["any"] == true {
				return nothing
			}
			r.Fields["any"] = true
			return change
		}},
		{"a rule loses a field", "rule", func(r *memory.Row) verb {
			delete(r.Fields, "peer")
			return change
		}},
		{"a rule gains a field", "rule", func(r *memory.Row) verb {
			r.Fields["comment"] = "by hand"
			return change
		}},
		{"a load balancer is deleted", "balancer", func(*memory.Row) verb { return vanish }},
		{"a balancer appears", "balancer", func(r *memory.Row) verb {
			r.Name = "by hand"
			return appear
		}},
		{"a VIP goes", "balancer", func(r *memory.Row) verb {
			return changeMap(r, "vips", func(m map[string]string, vip string) { delete(m, vip) })
		}},
		{"a VIP leads elsewhere", "balancer", func(r *memory.Row) verb {
			return changeMap(r, "vips", func(m map[string]string, vip string) { m[vip] = "192.0.2.66:80" })
		}},
		{"a VIP appears", "balancer", func(r *memory.Row) verb {
			return changeMap(r, "vips", func(m map[string]string, _ string) { m["tcp/192.0.2.66:80"] = "10.244.0.1:80" })
		}},
		{"a VIP admits everybody", "balancer", func(r *memory.Row) verb {
			return changeMap(r, "denied", func(m map[string]string, vip string) { delete(m, vip) })
		}},
		{"a load balancer loses its affinity", "balancer", func(r *memory.Row) verb {
			delete(r.Fields, "affinity")
			return change
		}},
		{"a load balancer serves another network", "balancer", func(r *memory.Row) verb {
			r.Fields["network"] = "elsewhere"
			return change
		}},
		{"a rule appears", "rule", func(r *memory.Row) verb {
			r.Name = "by hand"
			return appear
		}},
		{"a set appears", "set", func(r *memory.Row) verb {
			r.Name = "by hand"
			return appear
		}},
	}
}

func shorten(r *memory.Row, field string) verb {
	list, _ := r.Fields[field].([]string)
	if len(list) == 0 {
		return nothing
	}
	r.Fields[field] = list[1:]
	return change
}

// changeMap changes the first entry of a map, in order; nothing if there is none.
func changeMap(r *memory.Row, field string, spoil func(m map[string]string, first string)) verb {
	m, _ := r.Fields[field].(map[string]string)
	if len(m) == 0 {
		return nothing
	}
	spoil(m, slices.Sorted(maps.Keys(m))[0])
	return change
}

// Damage applies the n-th kind of damage to the first row that it can change.
func (t *Target) Damage(_ testing.TB, owner string, n int) (backendtest.Damage, bool) {
	if n >= len(harms()) {
		return backendtest.Damage{}, false
	}
	h := harms()[n]
	d := backendtest.Damage{What: h.what}
	for _, r := range t.Rows(owner) {
		if r.Kind != h.kind {
			continue
		}
		name := r.Name
		switch h.spoil(&r) {
		case nothing:
			continue
		case vanish:
			t.Remove(owner, r.Kind, name)
		case change, appear:
			t.Put(r)
		}
		d.Names = []string{r.Name}
		break
	}
	return d, true
}
