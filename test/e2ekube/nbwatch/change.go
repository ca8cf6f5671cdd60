package nbwatch

import (
	"encoding/json"
	"fmt"
	"time"
)

// Verb is what happened to a row.
type Verb int

// A row was inserted, modified or deleted.
const (
	Inserted Verb = iota + 1
	Modified
	Deleted
)

// String is the verb's lower-case name.
func (v Verb) String() string {
	switch v {
	case Inserted:
		return "inserted"
	case Modified:
		return "modified"
	case Deleted:
		return "deleted"
	}
	return fmt.Sprintf("verb %d", int(v))
}

// row is columns as encoded by the server.
type row map[string]json.RawMessage

// Change is the effect of one transaction on one row.
type Change struct {
	At          time.Time
	Number      int  // of the update; equal for all changes of one transaction
	Last        bool // no other change of its transaction follows
	Table       string
	UUID        string
	Verb        Verb
	ExternalIDs map[string]string // of the row when it was inserted
	row         row
}

// String formats the change on one line.
func (c Change) String() string {
	return fmt.Sprintf("%s %s %s %v", c.Verb, c.Table, c.UUID, c.ExternalIDs)
}

// Strings lists the strings in a set column: all of an inserted row, and for a modified one those added or removed.
// Numbers, UUIDs and columns that did not change are skipped.
func (c Change) Strings(column string) []string {
	raw, ok := c.row[column]
	if !ok {
		return nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var all []string
	for _, atom := range atoms(raw, "set") {
		if json.Unmarshal(atom, &one) == nil {
			all = append(all, one)
		}
	}
	return all
}

// pairs are those of a map column of strings.
func (c Change) pairs(column string) map[string]string {
	all := map[string]string{}
	for _, atom := range atoms(c.row[column], "map") {
		var pair []string
		if json.Unmarshal(atom, &pair) == nil && len(pair) == 2 {
			all[pair[0]] = pair[1]
		}
	}
	return all
}

// atoms parses ["set", [...]] or ["map", [...]].
func atoms(raw json.RawMessage, kind string) []json.RawMessage {
	var tagged []json.RawMessage
	var tag string
	if json.Unmarshal(raw, &tagged) != nil || len(tagged) != 2 || json.Unmarshal(tagged[0], &tag) != nil || tag != kind {
		return nil
	}
	var all []json.RawMessage
	if json.Unmarshal(tagged[1], &all) != nil {
		return nil
	}
	return all
}
