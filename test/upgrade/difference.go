package upgrade

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference says, for each table that netloom has rows in, how many rows the step from one state to another leaves as they are, changes,
// adds and deletes. A row stays if its UUID does.
func Difference(from, to State) string {
	var parts []string
	for _, table := range slices.Sorted(maps.Keys(to)) {
		if table == "NB_Global" || strings.HasPrefix(table, "Logical_") {
			continue
		}
		var same, changed, added, deleted int
		for uuid, row := range to[table] {
			switch was, there := from[table][uuid]; {
			case !there:
				added++
			case equal(was, row):
				same++
			default:
				changed++
			}
		}
		for uuid := range from[table] {
			if _, there := to[table][uuid]; !there {
				deleted++
			}
		}
		if same+changed+added+deleted > 0 {
			parts = append(parts, fmt.Sprintf("%s %d same %d changed %d new %d gone", table, same, changed, added, deleted))
		}
	}
	return strings.Join(parts, ", ")
}

// equal reports whether two rows have the same columns; a server gives a row another version when it writes the same again.
func equal(a, b Row) bool {
	for column, value := range b {
		if column != "_version" && string(a[column]) != string(value) {
			return false
		}
	}
	return len(a) == len(b)
}
