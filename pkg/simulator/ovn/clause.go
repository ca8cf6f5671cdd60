package ovn

import "encoding/json"

// clause is one member of the where of a monitor_cond request: a condition, or true or false for every row or none.
type clause struct {
	condition
	constant bool // not a condition: true for every row if all is set, otherwise for none
	all      bool
}

// newClauses reads a where. A row meets it when it meets one of the clauses (ovsdb-server(7), 4.1.12).
func newClauses(t *table, raw []json.RawMessage) ([]clause, *fault) {
	x := &txn{}
	var out []clause
	for _, text := range raw {
		var value bool
		if json.Unmarshal(text, &value) == nil {
			out = append(out, clause{constant: true, all: value})
			continue
		}
		list, f := x.conditions(t, []json.RawMessage{text})
		if f != nil {
			return nil, f
		}
		out = append(out, clause{condition: list[0]})
	}
	return out, nil
}

// sees reports whether r meets the condition of w.
func (w *watch) sees(r *row) bool {
	if len(w.where) == 0 {
		return true
	}
	for i := range w.where {
		c := &w.where[i]
		if c.constant && c.all || !c.constant && c.holds(r) {
			return true
		}
	}
	return false
}

// asked reports whether a column differs that is in the condition of w. The real server reports such a change even if the
// column is not monitored, without any column.
func (w *watch) asked(ch *change) bool {
	for i := range w.where {
		c := w.where[i].column
		if c != nil && !ch.old.cells[c.at].equal(ch.now.cells[c.at]) {
			return true
		}
	}
	return false
}
