package ovn

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

// UUIDOf is the uuid that AddSwitch and AddPort give a row: a function of table and name.
func UUIDOf(table, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(table+"/"+name)).String()
}

// AddSwitch adds a logical switch.
func (s *Server) AddSwitch(name string) error {
	return s.direct("add logical switch "+name, map[string]any{
		"op": "insert", "table": "Logical_Switch", "uuid": UUIDOf("Logical_Switch", name), "row": map[string]any{"name": name},
	})
}

// AddPort adds a logical port to a switch that AddSwitch added.
func (s *Server) AddPort(logicalSwitch, name string, externalIDs map[string]string) error {
	ids := make([]any, 0, len(externalIDs))
	for _, key := range sortedKeys(externalIDs) {
		ids = append(ids, []string{key, externalIDs[key]})
	}
	port := UUIDOf("Logical_Switch_Port", name)
	return s.direct("add logical port "+name,
		map[string]any{"op": "insert", "table": "Logical_Switch_Port", "uuid": port, "row": map[string]any{
			"name": name, "external_ids": []any{"map", ids},
		}},
		onSwitch(logicalSwitch, "insert", port))
}

// DeletePort removes a logical port that AddPort added.
func (s *Server) DeletePort(logicalSwitch, name string) error {
	return s.direct("delete logical port "+name, onSwitch(logicalSwitch, "delete", UUIDOf("Logical_Switch_Port", name)))
}

// onSwitch is the operation that changes the ports of a switch.
func onSwitch(logicalSwitch, mutator, port string) map[string]any {
	return map[string]any{
		"op": "mutate", "table": "Logical_Switch",
		"where":     []any{[]any{"_uuid", "==", []string{"uuid", UUIDOf("Logical_Switch", logicalSwitch)}}},
		"mutations": []any{[]any{"ports", mutator, []string{"uuid", port}}},
	}
}

// direct runs operations as one transaction, bypassing counters and faults.
func (s *Server) direct(doing string, ops ...any) error {
	raw := make([]json.RawMessage, len(ops))
	for i, op := range ops {
		raw[i] = marshal(op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.commit(s.db, raw) {
		var result struct {
			Error, Details string
			Count          *int
		}
		if err := json.Unmarshal(text, &result); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if result.Error != "" {
			return fmt.Errorf("%s: %s: %s", doing, result.Error, result.Details)
		}
		if result.Count != nil && *result.Count == 0 {
			return fmt.Errorf("%s: no such logical switch", doing)
		}
	}
	return nil
}
