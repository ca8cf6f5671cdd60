package ovn

import (
	"encoding/json"
	"fmt"
)

// monitor is one client's monitor request for one database.
type monitor struct {
	id      json.RawMessage
	db      *database
	version int // 1 monitor, 2 monitor_cond, 3 monitor_cond_since
	tables  map[*table]*watch
}

// watch is what a monitor reports of one table.
type watch struct {
	columns                         []*column
	initial, inserts, dels, changes bool
	// where lists clauses; monitor_cond shows a row that meets at least one of them. Nil is every row.
	where []clause
}

// newMonitor reads the parameters after the database's name.
func newMonitor(db *database, version int, params []json.RawMessage) (*monitor, *fault) {
	if len(params) < 2 {
		return nil, faultf(syntaxError, "a monitor needs an identifier and tables")
	}
	m := &monitor{id: params[0], db: db, version: version, tables: make(map[*table]*watch)}
	var requests map[string]json.RawMessage
	if err := json.Unmarshal(params[1], &requests); err != nil {
		return nil, faultf(syntaxError, "%v", err)
	}
	for name, raw := range requests {
		t := db.tables[name]
		if t == nil {
			return nil, faultf(syntaxError, "no table named %s", name)
		}
		w, f := newWatch(t, raw, version > 1)
		if f != nil {
			return nil, f
		}
		m.tables[t] = w
	}
	return m, nil
}

func newWatch(t *table, raw json.RawMessage, conditional bool) (*watch, *fault) {
	type request struct {
		Columns []string          `json:"columns"`
		Where   []json.RawMessage `json:"where"`
		Select  struct {
			Initial *bool `json:"initial"`
			Insert  *bool `json:"insert"`
			Delete  *bool `json:"delete"`
			Modify  *bool `json:"modify"`
		} `json:"select"`
	}
	var requests []request
	if json.Unmarshal(raw, &requests) != nil {
		requests = make([]request, 1)
		if err := json.Unmarshal(raw, &requests[0]); err != nil {
			return nil, faultf(syntaxError, "%v", err)
		}
	}
	w := &watch{}
	wanted := func(flag *bool) bool { return flag == nil || *flag }
	for _, r := range requests {
		w.initial = w.initial || wanted(r.Select.Initial)
		w.inserts = w.inserts || wanted(r.Select.Insert)
		w.dels = w.dels || wanted(r.Select.Delete)
		w.changes = w.changes || wanted(r.Select.Modify)
		if r.Where != nil && !conditional {
			return nil, faultf(syntaxError, "Parsing monitor request failed: Member 'where' is present but not allowed here.")
		}
		clauses, f := newClauses(t, r.Where)
		if f != nil {
			return nil, f
		}
		w.where = append(w.where, clauses...)
		if r.Columns == nil {
			w.columns = t.columns
		}
		for _, name := range r.Columns {
			c := t.byName[name]
			if c == nil {
				return nil, faultf(syntaxError, "%s is not a valid column name", name)
			}
			w.columns = append(w.columns, c)
		}
	}
	return w, nil
}

// first is the answer to the request of m: the current rows.
func (m *monitor) first() json.RawMessage {
	updates := make(map[string]map[rowID]json.RawMessage)
	for t, w := range m.tables {
		if !w.initial || len(m.db.rows[t]) == 0 {
			continue
		}
		for id, r := range m.db.rows[t] {
			if !w.sees(r) {
				continue
			}
			if updates[t.name] == nil {
				updates[t.name] = make(map[rowID]json.RawMessage)
			}
			if m.version == 1 {
				updates[t.name][id] = object("new", appendCells(nil, r, w.columns))
			} else {
				updates[t.name][id] = object("initial", appendCells(nil, r, set(r, w.columns)))
			}
		}
	}
	b := marshal(updates)
	if m.version == 3 {
		return fmt.Appendf(nil, `[false,"00000000-0000-0000-0000-000000000000",%s]`, b)
	}
	return b
}

// next is the notification of changes, nil when none concerns m.
func (m *monitor) next(changes []*change, txnID rowID) []byte {
	updates := make(map[string]map[rowID]json.RawMessage)
	for _, ch := range changes {
		w := m.tables[ch.key.table]
		if w == nil {
			continue
		}
		var update json.RawMessage
		if m.version == 1 {
			update = w.update(ch)
		} else {
			update = w.update2(ch)
		}
		if update == nil {
			continue
		}
		name := ch.key.table.name
		if updates[name] == nil {
			updates[name] = make(map[rowID]json.RawMessage)
		}
		updates[name][ch.key.id] = update
	}
	if len(updates) == 0 {
		return nil
	}
	method, extra := "update", ""
	switch m.version {
	case 2:
		method = "update2"
	case 3:
		method, extra = "update3", `"`+string(txnID)+`",`
	}
	return fmt.Appendf(nil, `{"method":%q,"params":[%s,%s%s],"id":null}`, method, m.id, extra, marshal(updates))
}

// update is a change as monitor reports it.
func (w *watch) update(ch *change) json.RawMessage {
	switch {
	case ch.old == nil:
		if w.inserts {
			return object("new", appendCells(nil, ch.now, w.columns))
		}
	case ch.now == nil:
		if w.dels {
			return object("old", appendCells(nil, ch.old, w.columns))
		}
	case w.changes:
		changed := w.changed(ch)
		if len(changed) > 0 {
			b := appendCells([]byte(`{"old":`), ch.old, changed)
			b = appendCells(append(b, `,"new":`...), ch.now, w.columns)
			return append(b, '}')
		}
	}
	return nil
}

// update2 is a change as monitor_cond reports it: a row that now meets the condition is inserted, one that no longer does
// is deleted.
func (w *watch) update2(ch *change) json.RawMessage {
	was, is := ch.old != nil && w.sees(ch.old), ch.now != nil && w.sees(ch.now)
	switch {
	case !was && !is:
	case !was:
		if w.inserts {
			return object("insert", appendCells(nil, ch.now, set(ch.now, w.columns)))
		}
	case !is:
		if w.dels {
			return json.RawMessage(`{"delete":null}`)
		}
	case w.changes:
		changed := w.changed(ch)
		if len(changed) == 0 && !w.asked(ch) {
			return nil
		}
		diff := &row{cells: make([]datum, len(ch.now.cells))}
		for _, c := range changed {
			diff.cells[c.at] = ch.now.cells[c.at]
			if c.typ.max > 1 {
				diff.cells[c.at] = ch.old.cells[c.at].difference(ch.now.cells[c.at])
			}
		}
		return object("modify", appendCells(nil, diff, changed))
	}
	return nil
}

// changed lists the watched columns that differ.
func (w *watch) changed(ch *change) []*column {
	var out []*column
	for _, c := range w.columns {
		if !ch.old.cells[c.at].equal(ch.now.cells[c.at]) {
			out = append(out, c)
		}
	}
	return out
}

// set lists the columns that do not have their default value.
func set(r *row, columns []*column) []*column {
	var out []*column
	for _, c := range columns {
		if !r.cells[c.at].equal(c.typ.zero()) {
			out = append(out, c)
		}
	}
	return out
}

func object(name string, value []byte) json.RawMessage {
	return fmt.Appendf(nil, `{%q:%s}`, name, value)
}

// marshal encodes v, which cannot fail.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
