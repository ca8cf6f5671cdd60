package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The routes and routing rules of the kernel. The device runs a command for each write and ignores whether it worked, and the kernel
// outlives a container that loses its configuration: so the lists of the device say nothing about the kernel.

// State is what the kernel has, as far as the readings of one part of it show: the rules, or the routes.
type State struct {
	Readings int
	rules    map[Rule]shownRule
	routes   map[Route]int   // in how many readings
	tables   map[string]bool // whose routes are reported: those that a rule refers to
	dev      string          // of the default route
}

// shownRule is how the readings show a rule.
type shownRule struct {
	readings int // how many
	copies   int // how many in one of them; the kernel has no two equal rules, but of a rule without its table there may be several
}

// NewState returns the state before the first reading.
func NewState() *State {
	return &State{rules: map[Rule]shownRule{}, routes: map[Route]int{}, tables: map[string]bool{}}
}

// ReadRules adds the status of the rules. A newer command ends its lines without a blank, and the device then loses the last word of
// each: the table.
func (k *State) ReadRules(status json.RawMessage) error {
	var list []struct {
		Src, Dst, Prio, FWMark, Table, Not string
	}
	if json.Unmarshal(status, &list) != nil {
		return errors.New("not a list of rules")
	}
	if len(list) == 0 {
		return errors.New("no rules, not even that of the table main")
	}
	copies := map[Rule]int{}
	for _, r := range list {
		prio, err := strconv.ParseUint(strings.TrimSpace(r.Prio), 10, 64)
		if err != nil {
			return fmt.Errorf("a rule with priority %q", r.Prio)
		}
		rule := Rule{prio, r.Not == "true", prefixName(r.Src), prefixName(r.Dst), markName(r.FWMark), r.Table}
		if rule.Table != "" {
			rule.Table = tableName(rule.Table)
		} else if rule == (Rule{Prio: prio}) {
			rule.Table = everyPodsRules()[prio]
		}
		if copies[rule]++; rule.Table != "" {
			copies[rule] = 1
		}
	}
	for r, n := range copies {
		shown := k.rules[r]
		k.rules[r] = shownRule{shown.readings + 1, max(shown.copies, n)}
	}
	return nil
}

// everyPodsRules returns the tables of the rules that every pod has, by priority.
func everyPodsRules() map[uint64]string {
	return map[uint64]string{0: "local", 32766: mainTable, 32767: "default"}
}

// ReadRoutes adds the status of the routes.
func (k *State) ReadRoutes(status json.RawMessage) error {
	var list map[string]struct {
		Item []struct{ Destination, Gateway, Device string }
	}
	if json.Unmarshal(status, &list) != nil || len(list) == 0 {
		return errors.New("not the routes of tables")
	}
	tables, routes := map[string]bool{}, map[Route]bool{}
	for name, t := range list {
		table := tableName(name)
		tables[table] = true
		for _, r := range t.Item {
			routes[Route{table, routeName(r.Destination), r.Gateway, r.Device}] = true
			if table == mainTable && r.Destination == "default" && k.dev == "" {
				k.dev = r.Device
			}
		}
	}
	for t := range k.tables {
		if !tables[t] {
			return fmt.Errorf("table %s comes and goes", t)
		}
	}
	k.tables = tables
	for r := range routes {
		k.routes[r]++
	}
	return nil
}

// RouteOf returns the route that an object stands for.
func (k *State) RouteOf(o openwrt.Object) Route {
	r := Route{mainTable, routeName(section.Text(o, "dst")), section.Text(o, "gw"), section.Text(o, "dev")}
	if section.Text(o, "table") == "cnf" {
		r.Table = cnfTable
	}
	if r.dev == "#default" {
		r.dev = k.dev
	}
	if strings.HasPrefix(r.dev, "#") {
		r.dev = ""
	}
	return r
}
