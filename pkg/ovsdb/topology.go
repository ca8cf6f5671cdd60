package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

const (
	tableSwitch     = "Logical_Switch"
	tableRouter     = "Logical_Router"
	tableRouterPort = "Logical_Router_Port"
	// The types of logical switch ports that lead to a router and to a physical network (ovn-nb(5)).
	typeRouter   = "router"
	typeLocalnet = "localnet"
)

// Datapath is a row of Logical_Switch or Logical_Router. It is read-only.
type Datapath struct {
	UUID        string
	Name        string // not an index: several rows may have one name
	ExternalIDs map[string]string
}

// Link is a connection of a switch and a router.
type Link struct{ Switch, Router string } // UUIDs

// Switches lists the logical switches, ordered by name and then UUID. While disconnected it returns the last known state.
func (c *Client) Switches() []Datapath { return c.topology.list(tableSwitch) }

// Routers lists the logical routers in the same way.
func (c *Client) Routers() []Datapath { return c.topology.list(tableRouter) }

// TopologyVersion grows whenever a switch, a router, or a connection between two of them or to the outside appears,
// disappears or changes. Wake then receives.
func (c *Client) TopologyVersion() uint64 {
	c.topology.mu.Lock()
	defer c.topology.mu.Unlock()
	return c.topology.version
}

// Links reads which switches are connected to which routers, in order.
func (c *Client) Links(ctx context.Context) ([]Link, error) {
	routerOf, err := c.routersByPort(ctx)
	if err != nil || len(routerOf) == 0 {
		return nil, err
	}
	switchOf, err := c.switchesByPort(ctx)
	if err != nil {
		return nil, err
	}
	isRouter := []ovsdb.Condition{{Column: "type", Function: ovsdb.ConditionEqual, Value: typeRouter}}
	ports, err := c.Select(ctx, tableLogicalPort, isRouter, "_uuid", "options")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tableLogicalPort, err)
	}
	found := map[Link]bool{}
	for _, p := range ports {
		router, sw := routerOf[StringMap(p["options"])["router-port"]], switchOf[String(p["_uuid"])]
		if router != "" && sw != "" {
			found[Link{sw, router}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Link) int {
		return strings.Compare(a.Switch+a.Router, b.Switch+b.Router)
	}), nil
}

// Uplinks reads the UUIDs of the switches with a port to the outside, in order.
func (c *Client) Uplinks(ctx context.Context) ([]string, error) {
	ports := c.ports.uplinks()
	if len(ports) == 0 {
		return nil, nil
	}
	switchOf, err := c.switchesByPort(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, port := range ports {
		if sw := switchOf[port]; sw != "" {
			found = append(found, sw)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// switchesByPort finds the switch of each switch port, by UUIDs. It reads the whole table: one request for each port
// would make the server scan all switches each time.
func (c *Client) switchesByPort(ctx context.Context) (map[string]string, error) {
	rows, err := c.Select(ctx, tableSwitch, nil, "_uuid", "ports")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tableSwitch, err)
	}
	switchOf := map[string]string{}
	for _, r := range rows {
		for _, port := range Strings(r["ports"]) {
			switchOf[port] = String(r["_uuid"])
		}
	}
	return switchOf, nil
}

// routersByPort finds the router of each router port by the port's name.
func (c *Client) routersByPort(ctx context.Context) (map[string]string, error) {
	ports, err := c.Select(ctx, tableRouterPort, nil, "_uuid", "name")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tableRouterPort, err)
	}
	routers, err := c.Select(ctx, tableRouter, nil, "_uuid", "ports")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tableRouter, err)
	}
	routerOf := map[string]string{}
	for _, r := range routers {
		for _, port := range Strings(r["ports"]) {
			routerOf[port] = String(r["_uuid"])
		}
	}
	byName := map[string]string{}
	for _, p := range ports {
		if router := routerOf[String(p["_uuid"])]; router != "" {
			byName[String(p["name"])] = router
		}
	}
	return byName, nil
}

// topology is the state of the monitored switches and routers.
type topology struct {
	mu      sync.Mutex
	version uint64
	rows    map[string]map[string]datapathRow // by table and UUID
}

type datapathRow struct {
	Datapath
	ports int // of a router: a port that appears or disappears may be a connection
}

func newTopology() *topology {
	return &topology{rows: map[string]map[string]datapathRow{tableSwitch: {}, tableRouter: {}}}
}

func (t *topology) list(table string) []Datapath {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Datapath, 0, len(t.rows[table]))
	for _, r := range t.rows[table] {
		out = append(out, r.Datapath)
	}
	slices.SortFunc(out, func(a, b Datapath) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.UUID, b.UUID)
	})
	return out
}

// bump records a change that the rows do not show.
func (t *topology) bump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version++
}

// request is the tables and columns to monitor, "" if the schema has none of them.
func (t *topology) request(schema Schema) []byte {
	b := []byte{'{'}
	for table, columns := range map[string][]string{
		tableSwitch: {"name", "external_ids"}, tableRouter: {"name", "external_ids", "ports"},
	} {
		var known []string
		for _, c := range columns {
			if schema.HasColumn(table, c) {
				known = append(known, c)
			}
		}
		if len(known) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendStrings(append(appendString(b, table), `:{"columns":`...), known), '}')
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// take applies an update of the monitor, and reports whether anything changed. The first answer of a monitor is complete.
func (t *topology) take(raw json.RawMessage, first bool) (changed bool, err error) {
	var tables map[string]map[string]struct {
		New *struct {
			Name        string `json:"name"`
			ExternalIDs any    `json:"external_ids"`
			Ports       any    `json:"ports"`
		} `json:"new"`
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &tables); err != nil {
			return false, fmt.Errorf("read switches and routers: %w", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for table, known := range t.rows {
		for uuid := range known {
			if _, listed := tables[table][uuid]; first && !listed {
				delete(known, uuid)
				changed = true
			}
		}
		for uuid, update := range tables[table] {
			if update.New == nil {
				delete(known, uuid)
				changed = true
				continue
			}
			row := datapathRow{
				Datapath: Datapath{uuid, update.New.Name, StringMap(fromWire(update.New.ExternalIDs))},
				ports:    len(Strings(fromWire(update.New.Ports))),
			}
			if old, ok := known[uuid]; !ok || !old.same(row) {
				known[uuid] = row
				changed = true
			}
		}
	}
	if changed {
		t.version++
	}
	return changed, nil
}

func (r datapathRow) same(o datapathRow) bool {
	return r.Name == o.Name && r.ports == o.ports && maps.Equal(r.ExternalIDs, o.ExternalIDs)
}
