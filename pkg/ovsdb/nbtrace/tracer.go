package nbtrace

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Tracer evaluates packets on one state of a Northbound database. It is safe for concurrent use.
type Tracer struct {
	switchOf map[string]string // port name to switch name
	// Rules in the order of evaluation, by stage: those that can only match at one port under it, the others under their
	// switch.
	byPort   [stages]map[string][]*rule
	bySwitch [stages]map[string][]*rule
	stateful map[string]bool // switches that track connections
	// stateless are the switches with ACLs of the action allow-stateless, by stage.
	stateless [stages]map[string]bool
	uplinks   map[string][]string // by switch: its ports to routers and the outside
	drops     bool                // what no ACL decides is dropped, on switches with ACLs
	sight
	balancing
	portOf map[netip.Addr]string // what Rows.Ports says
}

// ACLError is an ACL that OVN would skip because its match or one of its columns is invalid.
type ACLError struct {
	UUID  string
	Match string
	Err   error
}

// Error formats e with the ACL's UUID and match.
func (e *ACLError) Error() string { return fmt.Sprintf("acl %s: match %q: %v", e.UUID, e.Match, e.Err) }

// Unwrap is the cause, often a *SyntaxError.
func (e *ACLError) Unwrap() error { return e.Err }

// The stages in which ACLs are evaluated.
const (
	stageFrom = iota
	stageFromAfterLB
	stageTo
	stages
)

// rule is a parsed ACL.
type rule struct {
	acl    ACL
	match  matcher
	stage  int
	groups []string        // port groups it refers to
	only   map[string]bool // ports outside of which it cannot match; nil means no limit
	looks  looks           // what of a packet it depends on
}

// New reads rows. The tracer is usable even if the error is not nil: the error lists the rows that are invalid, as
// *ACLError for ACLs and as *BalancerError for load balancers, and the tracer skips them, as OVN does.
func New(rows Rows) (*Tracer, error) {
	t := &Tracer{
		switchOf: map[string]string{}, stateful: map[string]bool{}, uplinks: map[string][]string{},
		drops: rows.Options["default_acl_drop"] == "true", sight: newSight(),
	}
	for i := range stages {
		t.byPort[i], t.bySwitch[i], t.stateless[i] = map[string][]*rule{}, map[string][]*rule{}, map[string]bool{}
	}
	for _, sw := range rows.Switches {
		for _, p := range sw.Ports {
			t.switchOf[p] = sw.Name
		}
	}
	for i := range rows.Ports {
		if p := &rows.Ports[i]; p.uplink() {
			sw := t.switchOf[p.Name]
			t.uplinks[sw] = append(t.uplinks[sw], p.Name)
		}
	}
	t.portOf = portsByAddr(rows.Ports)
	w, faults := newWorld(rows)
	rules := map[string]*rule{}
	for i := range rows.ACLs {
		r, err := w.rule(rows.ACLs[i])
		if err != nil {
			faults = append(faults, &ACLError{rows.ACLs[i].UUID, rows.ACLs[i].Match, err})
			continue
		}
		rules[r.acl.UUID] = r
	}
	t.index(w, rules)
	t.place(rows, rules)
	faults = append(faults, t.balance(rows)...)
	for i := range stages {
		for _, list := range t.byPort[i] {
			slices.SortFunc(list, compareRules)
		}
		for _, list := range t.bySwitch[i] {
			slices.SortFunc(list, compareRules)
		}
	}
	return t, errors.Join(faults...)
}

// rule parses one ACL.
func (w *world) rule(acl ACL) (*rule, error) {
	r := &rule{acl: acl}
	portField := "inport"
	switch {
	case acl.Direction == "to-lport":
		r.stage, portField = stageTo, "outport"
	case acl.Direction != "from-lport":
		return nil, fmt.Errorf("unknown direction %q", acl.Direction)
	case acl.Options["apply-after-lb"] == "true":
		r.stage = stageFromAfterLB
	}
	if !slices.Contains([]string{"allow", "allow-related", "allow-stateless", "drop", "reject", "pass"}, acl.Action) {
		return nil, fmt.Errorf("unknown action %q", acl.Action)
	}
	e, err := parse(acl.Match, w.fields, true)
	if err != nil {
		return nil, err
	}
	if r.match, err = w.compile(e.root); err != nil {
		return nil, err
	}
	r.groups, r.looks.root = groupsIn(e.root), e.root
	r.only = w.required(e.root, portField)
	return r, nil
}

// place puts every rule under the ports or switches where it is evaluated: those of its switch, or of every switch that
// has a port of its group.
func (t *Tracer) place(rows Rows, rules map[string]*rule) {
	present := map[string]map[string]bool{} // port group to the switches on which it has a port
	on := map[string]map[string]bool{}      // ACL to switches
	add := func(m map[string]map[string]bool, key, sw string) {
		if m[key] == nil {
			m[key] = map[string]bool{}
		}
		m[key][sw] = true
	}
	for _, g := range rows.PortGroups {
		for _, p := range g.Ports {
			if sw, ok := t.switchOf[p]; ok {
				add(present, g.Name, sw)
			}
		}
		for _, uuid := range g.ACLs {
			for sw := range present[g.Name] {
				add(on, uuid, sw)
			}
		}
	}
	for _, sw := range rows.Switches {
		for _, uuid := range sw.ACLs {
			add(on, uuid, sw.Name)
		}
	}
	for uuid, r := range rules {
		for sw := range on[uuid] {
			switch r.acl.Action {
			case "allow-related":
				t.stateful[sw] = true
			case "allow-stateless":
				t.stateless[r.stage][sw] = true
			}
			// A group without a port on a switch does not exist there, and its name voids the ACL.
			if slices.ContainsFunc(r.groups, func(g string) bool { return !present[g][sw] }) {
				continue
			}
			if r.only == nil {
				t.bySwitch[r.stage][sw] = append(t.bySwitch[r.stage][sw], r)
				continue
			}
			for p := range r.only {
				if t.switchOf[p] == sw {
					t.byPort[r.stage][p] = append(t.byPort[r.stage][p], r)
				}
			}
		}
	}
}

// compareRules orders rules by evaluation: by tier, then highest priority, then UUID.
func compareRules(a, b *rule) int {
	return cmp.Or(
		cmp.Compare(a.acl.Tier, b.acl.Tier),
		cmp.Compare(b.acl.Priority, a.acl.Priority),
		strings.Compare(a.acl.UUID, b.acl.UUID),
	)
}
