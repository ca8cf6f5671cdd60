package ovsdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const tableLogicalPort = "Logical_Switch_Port"

// Port is a row of Logical_Switch_Port. It is read-only.
type Port struct {
	UUID string
	Name string
	// ExternalIDs holds the keys of Options.PortIndexKeys that the port has.
	ExternalIDs map[string]string

	kind string // its type; "" is that of a pod or a VM
}

// Port returns the uuid of the logical port of that name. While disconnected it returns the last known state.
func (c *Client) Port(name string) (uuid string, ok bool) {
	c.ports.mu.Lock()
	defer c.ports.mu.Unlock()
	uuid, ok = c.ports.byName[name]
	return uuid, ok
}

// PortName returns the name of the logical port of that uuid.
func (c *Client) PortName(uuid string) (name string, ok bool) {
	c.ports.mu.Lock()
	defer c.ports.mu.Unlock()
	p, ok := c.ports.byUUID[uuid]
	return p.Name, ok
}

// PortNames lists, sorted, the names of the logical ports of pods and VMs: those without a type.
func (c *Client) PortNames() []string {
	c.ports.mu.Lock()
	defer c.ports.mu.Unlock()
	var names []string
	for _, p := range c.ports.byUUID {
		if p.kind == "" {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// PortChange reports that the port of a name appeared, disappeared, or is another row or has other indexed external_ids.
type PortChange struct {
	Name string
	// Left are the UUIDs of the ports that were renamed from this name to another one, in that order. A deleted port is
	// not included, unless it was renamed before.
	Left []string
}

// PortChanges returns, ordered by name, the changes since the last call, and clears them. At the first connection every
// port appears. With Options.PortIndexKeys only changes of ports that have one of the keys are reported.
func (c *Client) PortChanges() []PortChange {
	c.ports.mu.Lock()
	defer c.ports.mu.Unlock()
	changes := make([]PortChange, 0, len(c.ports.changed))
	for _, name := range slices.Sorted(maps.Keys(c.ports.changed)) {
		changes = append(changes, PortChange{name, c.ports.changed[name]})
	}
	c.ports.changed = make(map[string][]string) // clear would keep the room for every port there is, which the first call lists
	return changes
}

// PortsByExternalID returns the ports whose external_ids have value under key, ordered by name. The key must be one of
// Options.PortIndexKeys: any other key matches no port.
func (c *Client) PortsByExternalID(key, value string) []Port {
	c.ports.mu.Lock()
	defer c.ports.mu.Unlock()
	uuids := c.ports.byID[externalID{key, value}]
	ports := make([]Port, 0, len(uuids))
	for uuid := range uuids {
		ports = append(ports, c.ports.byUUID[uuid])
	}
	slices.SortFunc(ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	return ports
}

type externalID struct{ key, value string }

// portIndex is the state of the monitored logical ports.
type portIndex struct {
	keys []string

	mu      sync.Mutex
	byUUID  map[string]Port
	byName  map[string]string
	byID    map[externalID]map[string]struct{}
	changed map[string][]string // by name: the ports that were renamed from it
	linked  bool                // a port to a router or the outside came, went or changed since takeLinked
	outside map[string]struct{} // ports to the outside, by UUID
}

// uplinks lists the ports to the outside, in order.
func (x *portIndex) uplinks() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.outside))
}

// takeLinked reports whether a connection of a switch to a router or the outside may have changed since the last call.
func (x *portIndex) takeLinked() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.linked
	x.linked = false
	return was
}

func newPortIndex(keys []string) *portIndex {
	return &portIndex{
		keys:    slices.Clone(keys),
		byUUID:  make(map[string]Port),
		byName:  make(map[string]string),
		byID:    make(map[externalID]map[string]struct{}),
		changed: make(map[string][]string),
		outside: make(map[string]struct{}),
	}
}

// request is the columns to monitor, nil if the schema has no logical ports.
func (x *portIndex) request(schema Schema) []byte {
	if !schema.HasColumn(tableLogicalPort, "name") {
		return nil
	}
	columns := []string{"name"}
	if schema.HasColumn(tableLogicalPort, "type") {
		columns = append(columns, "type")
	}
	if len(x.keys) > 0 && schema.HasColumn(tableLogicalPort, "external_ids") {
		columns = append(columns, "external_ids")
	}
	return append(appendStrings([]byte(`{"`+tableLogicalPort+`":{"columns":`), columns), "}}"...)
}

// portUpdate is the update of one row by a monitor: New is nil for a deleted one.
type portUpdate struct {
	New *struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		ExternalIDs any    `json:"external_ids"`
	} `json:"new"`
}

func parsePorts(raw json.RawMessage) (map[string]portUpdate, error) {
	if raw == nil {
		return nil, nil
	}
	var tables map[string]map[string]portUpdate
	if err := json.Unmarshal(raw, &tables); err != nil {
		return nil, fmt.Errorf("read logical ports: %w", err)
	}
	return tables[tableLogicalPort], nil
}

// replace makes the index hold exactly the ports in raw, the first answer of a monitor, and records the differences.
func (x *portIndex) replace(raw json.RawMessage) error {
	rows, err := parsePorts(raw)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for uuid := range x.byUUID {
		if _, stays := rows[uuid]; !stays {
			x.drop(uuid)
		}
	}
	for uuid, row := range rows {
		x.put(uuid, row)
	}
	return nil
}

// update applies an update of the monitor, and reports whether anything changed. Deletions are applied first: a name may
// move from one row to another in one transaction.
func (x *portIndex) update(raw json.RawMessage) (changed bool, err error) {
	rows, err := parsePorts(raw)
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for uuid, row := range rows {
		if row.New == nil {
			x.drop(uuid)
		}
	}
	for uuid, row := range rows {
		if row.New != nil {
			x.put(uuid, row)
		}
	}
	return len(x.changed) > 0, nil
}

func (x *portIndex) put(uuid string, row portUpdate) {
	port := Port{UUID: uuid, Name: row.New.Name, kind: row.New.Type}
	if len(x.keys) > 0 {
		all := StringMap(fromWire(row.New.ExternalIDs))
		port.ExternalIDs = make(map[string]string)
		for _, key := range x.keys {
			if value, ok := all[key]; ok {
				port.ExternalIDs[key] = value
			}
		}
	}
	if old, ok := x.byUUID[uuid]; ok {
		if old.Name == port.Name && old.kind == port.kind && maps.Equal(old.ExternalIDs, port.ExternalIDs) {
			return
		}
		x.drop(uuid)
		if left, noted := x.changed[old.Name]; noted && old.Name != port.Name && !slices.Contains(left, uuid) {
			x.changed[old.Name] = append(left, uuid)
		}
	}
	x.note(port)
	if port.kind == typeLocalnet {
		x.outside[uuid] = struct{}{}
	}
	x.byUUID[uuid] = port
	x.byName[port.Name] = uuid
	for key, value := range port.ExternalIDs {
		id := externalID{key, value}
		if x.byID[id] == nil {
			x.byID[id] = make(map[string]struct{})
		}
		x.byID[id][uuid] = struct{}{}
	}
}

// note records that a port changed. If ports are indexed by external_ids, ports without any of the keys are ignored.
func (x *portIndex) note(port Port) {
	x.linked = x.linked || port.kind == typeRouter || port.kind == typeLocalnet
	if len(x.keys) == 0 || len(port.ExternalIDs) > 0 {
		if _, ok := x.changed[port.Name]; !ok {
			x.changed[port.Name] = nil
		}
	}
}

func (x *portIndex) drop(uuid string) {
	port, ok := x.byUUID[uuid]
	if !ok {
		return
	}
	x.note(port)
	delete(x.byUUID, uuid)
	delete(x.outside, uuid)
	if x.byName[port.Name] == uuid {
		delete(x.byName, port.Name)
	}
	for key, value := range port.ExternalIDs {
		id := externalID{key, value}
		delete(x.byID[id], uuid)
		if len(x.byID[id]) == 0 {
			delete(x.byID, id)
		}
	}
}
