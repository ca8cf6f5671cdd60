package ovn

import (
	"fmt"
	"slices"
	"strings"
)

// Dump formats the rows of the given tables, or of all tables that have rows, as text that depends only on their content:
// it has no uuids. A reference is shown as the name of the row, and a row without a name in a non-root table is shown
// within the row that references it. Columns with default values are left out.
func (s *Server) Dump(tables ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(tables) == 0 {
		for _, name := range sortedKeys(s.db.tables) {
			if s.db.tables[name].root {
				tables = append(tables, name)
			}
		}
	}
	var b strings.Builder
	for _, name := range tables {
		t := s.db.tables[name]
		if t == nil {
			fmt.Fprintf(&b, "no table %s\n", name)
			continue
		}
		texts := make([]string, 0, len(s.db.rows[t]))
		for _, r := range s.db.rows[t] {
			texts = append(texts, s.db.format(t, r, 0))
		}
		slices.Sort(texts)
		for _, text := range texts {
			b.WriteString(t.name + text)
		}
	}
	return b.String()
}

const dumpDepth = 4 // references among rows without a name may form a cycle

// format formats a row: its name, then a line for each column.
func (db *database) format(t *table, r *row, depth int) string {
	indent := "\n" + strings.Repeat("    ", depth+1)
	var b strings.Builder
	name, named := t.byName["name"]
	if named && len(r.cells[name.at].keys) > 0 {
		b.WriteString(" " + r.cells[name.at].list())
	}
	for _, c := range set(r, t.columns) {
		if c.name == "name" {
			continue
		}
		d := r.cells[c.at]
		words := make([]string, 0, len(d.keys))
		for i, key := range d.keys {
			word := db.atom(c.refKey, key, depth)
			if c.typ.value != nil {
				word += "=" + db.atom(c.refVal, d.vals[i], depth)
			}
			words = append(words, word)
		}
		slices.Sort(words)
		b.WriteString(indent + c.name + ":")
		if c.refKey != nil && !c.refKey.labelled() {
			for _, word := range words {
				b.WriteString(indent + "  -" + strings.TrimSuffix(word, "\n"))
			}
			continue
		}
		b.WriteString(" " + strings.Join(words, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

// labelled reports whether a reference to a row of t is best shown as the row's name.
func (t *table) labelled() bool {
	if c, ok := t.byName["name"]; ok {
		return t.root || slices.ContainsFunc(t.indexes, func(index []*column) bool { return len(index) == 1 && index[0] == c })
	}
	return t.root
}

func (db *database) atom(to *table, atom any, depth int) string {
	id, isRef := atom.(rowID)
	if to == nil || !isRef {
		if text, ok := atom.(string); ok && (text == "" || strings.ContainsAny(text, " ,=\n\"")) {
			return fmt.Sprintf("%q", text)
		}
		return plain(atom)
	}
	r := db.rows[to][id]
	switch name := to.byName["name"]; {
	case r == nil:
		return "(gone)"
	case !to.labelled() && depth < dumpDepth:
		return db.format(to, r, depth+1)
	case name != nil && len(r.cells[name.at].keys) > 0:
		return r.cells[name.at].list()
	default:
		return to.name
	}
}
