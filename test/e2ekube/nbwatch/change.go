package nbwatch

import (
	"encoding/json"
	"fmt"
	"time"
)

// Verb is what became of a row.
type Verb int

// A row came, differs, or went.
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

// row holds columns as the server spells them.
type row map[string]json.RawMessage

// Change is what one transaction did to one row.
type Change struct {
	At          time.Time
	Number      int  // of the update that brought it; equal for all that one transaction changed
	Last        bool // no other change of its transaction follows
	Table       string
	UUID        string
	Verb        Verb
	ExternalIDs map[string]string // of the row when it came
	row         row
}

// String is one line for people.
func (c Change) String() string {
	return fmt.Sprintf("%s %s %s %v", c.Verb, c.Table, c.UUID, c.ExternalIDs)
}

// Strings are those in a column that holds a set: all of an inserted row, and of a modified one those that came or went.
// Numbers, UUIDs and columns that did not change are none.
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

// pairs are those of a column that maps strings to strings.
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

// atoms takes ["set", [...]] or ["map", [...]] apart.
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
