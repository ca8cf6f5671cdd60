package ovn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// txn is a running transaction. Nothing of it is visible before commit.
type txn struct {
	db      *database
	changes map[rowKey]*change
	order   []*change
	names   *symbols
	taken   map[string]bool // names of inserts
	newUUID func() rowID
}

// change is the effect of a transaction on one row: old is nil for an inserted one, now for a deleted one.
type change struct {
	key rowKey
	old *row
	now *row
}

// operation is an operation as received.
type operation struct {
	Op        string                       `json:"op"`
	Table     string                       `json:"table"`
	Row       map[string]json.RawMessage   `json:"row"`
	Rows      []map[string]json.RawMessage `json:"rows"`
	Columns   []string                     `json:"columns"`
	Mutations []json.RawMessage            `json:"mutations"`
	Where     []json.RawMessage            `json:"where"`
	Until     string                       `json:"until"`
	UUID      string                       `json:"uuid"`
	UUIDName  string                       `json:"uuid-name"`
}

// transact runs operations, given as the parameters of the request after the database's name. Results are those of the
// reply. The changes are nil if nothing was committed.
func (db *database) transact(raw []json.RawMessage, newUUID func() rowID) (results []json.RawMessage, changes []*change) {
	x := &txn{db: db, changes: make(map[rowKey]*change), newUUID: newUUID, taken: make(map[string]bool)}
	x.names = &symbols{ids: make(map[string]rowID), next: newUUID}
	results = make([]json.RawMessage, len(raw))
	for i := range results {
		results[i] = json.RawMessage("null")
	}
	for i, text := range raw {
		op, f := x.parse(text)
		if f == nil {
			results[i], f = x.do(op)
		}
		if f != nil {
			results[i] = f.wire()
			return results, nil
		}
	}
	changes, f := x.commit()
	if f != nil {
		return append(results, f.wire()), nil
	}
	db.apply(changes)
	return results, changes
}

func (f *fault) wire() json.RawMessage {
	b := appendAtom([]byte(`{"error":`), f.kind)
	if f.details != "" {
		b = appendAtom(append(b, `,"details":`...), f.details)
	}
	return append(b, '}')
}

// members lists what an operation must have in addition to op, and what it may have.
func members(op string) (must, may []string, known bool) {
	switch op {
	case "insert":
		return []string{"table", "row"}, []string{"uuid", "uuid-name"}, true
	case "select":
		return []string{"table", "where"}, []string{"columns"}, true
	case "update":
		return []string{"table", "where", "row"}, nil, true
	case "mutate":
		return []string{"table", "where", "mutations"}, nil, true
	case "delete":
		return []string{"table", "where"}, nil, true
	case "wait":
		return []string{"table", "where", "columns", "until", "rows"}, []string{"timeout"}, true
	case "commit":
		return []string{"durable"}, nil, true
	case "comment":
		return []string{"comment"}, nil, true
	case "assert":
		return []string{"lock"}, nil, true
	}
	return nil, nil, op == "abort"
}

// parse reads one operation.
func (x *txn) parse(raw json.RawMessage) (*operation, *fault) {
	var given map[string]json.RawMessage
	var op operation
	if json.Unmarshal(raw, &given) != nil || json.Unmarshal(raw, &op) != nil {
		return nil, faultf(syntaxError, "Parsing ovsdb operation failed: Object expected.")
	}
	must, may, known := members(op.Op)
	if !known {
		return nil, faultf(syntaxError, "Parsing ovsdb operation failed: No operation %q", op.Op)
	}
	for _, name := range must {
		if _, ok := given[name]; !ok {
			return nil, faultf(syntaxError, "Parsing ovsdb operation failed: Required '%s' member is missing.", name)
		}
	}
	for _, name := range sortedKeys(given) {
		if name != "op" && !slices.Contains(must, name) && !slices.Contains(may, name) {
			return nil, faultf(syntaxError, "Parsing ovsdb operation failed: Member '%s' is present but not allowed here.", name)
		}
	}
	return &op, nil
}

// identify chooses the uuid of the row that op inserts.
func (x *txn) identify(op *operation) (rowID, *fault) {
	named := x.names.ids[op.UUIDName] // another operation may have referred to it
	var id rowID
	switch {
	case op.UUID != "" && !uuidPattern.MatchString(op.UUID):
		return "", faultf(syntaxError, "bad uuid")
	case op.UUID != "":
		id = rowID(strings.ToLower(op.UUID))
	case op.UUIDName != "" && named != "":
		id = named
	default:
		id = x.newUUID()
	}
	if op.UUIDName == "" {
		return id, nil
	}
	if x.taken[op.UUIDName] {
		return "", faultf("duplicate uuid-name", "This %q appeared as the \"uuid-name\" of an earlier insert.", op.UUIDName)
	}
	x.taken[op.UUIDName] = true
	x.names.ids[op.UUIDName] = id
	return id, nil
}

// do runs one operation.
func (x *txn) do(op *operation) (json.RawMessage, *fault) {
	switch op.Op {
	case "comment", "commit":
		return json.RawMessage("{}"), nil
	case "abort":
		return nil, &fault{kind: "aborted", details: "aborted by request"}
	case "assert":
		return nil, &fault{kind: "not owner", details: "Asserted lock is not held by this client."}
	}
	t := x.db.tables[op.Table]
	if t == nil {
		return nil, faultf(syntaxError, "No table named %s.", op.Table)
	}
	if op.Op == "insert" {
		return x.insert(t, op)
	}
	where, f := x.conditions(t, op.Where)
	if f != nil {
		return nil, f
	}
	switch op.Op {
	case "select":
		return x.read(t, op, where)
	case "update":
		return x.update(t, op, where)
	case "mutate":
		return x.mutate(t, op, where)
	case "delete":
		found := x.find(t, where)
		for _, r := range found {
			x.set(rowKey{t, r.id}, nil)
		}
		return counted(len(found)), nil
	default: // what parse let through
		return x.wait(t, op, where)
	}
}

func counted(n int) json.RawMessage { return fmt.Appendf(nil, `{"count":%d}`, n) }

// get is a row as the transaction sees it, nil if there is none.
func (x *txn) get(key rowKey) *row {
	if ch, ok := x.changes[key]; ok {
		return ch.now
	}
	return x.db.rows[key.table][key.id]
}

// set replaces a row as the transaction sees it; nil deletes.
func (x *txn) set(key rowKey, r *row) {
	ch, ok := x.changes[key]
	if !ok {
		ch = &change{key: key, old: x.db.rows[key.table][key.id]}
		x.changes[key] = ch
		x.order = append(x.order, ch)
	}
	ch.now = r
	if ch.old == nil && r == nil {
		delete(x.changes, key) // as if it had never been inserted; its entry in order has no effect
	}
}

func (x *txn) insert(t *table, op *operation) (json.RawMessage, *fault) {
	id, f := x.identify(op)
	if f != nil {
		return nil, f
	}
	key := rowKey{t, id}
	if _, seen := x.changes[key]; seen || x.db.rows[t][id] != nil {
		return nil, &fault{duplicateUUID, "This UUID would duplicate a UUID already present within the table or deleted " +
			"within the same transaction."}
	}
	r := &row{id: id, version: x.newUUID(), cells: make([]datum, len(t.columns))}
	for _, c := range t.columns {
		r.cells[c.at] = c.typ.zero()
	}
	if f := x.fill(t, r, op.Row, false); f != nil {
		return nil, f
	}
	for _, c := range t.columns { // required columns have to be given
		if _, given := op.Row[c.name]; !given && c.typ.min > 0 {
			if f := c.typ.key.check(r.cells[c.at].keys[0]); f != nil {
				return nil, f
			}
		}
	}
	x.set(key, r)
	return append(appendAtom([]byte(`{"uuid":`), id), '}'), nil
}

// fill sets the given cells of r.
func (x *txn) fill(t *table, r *row, cells map[string]json.RawMessage, update bool) *fault {
	for _, name := range sortedKeys(cells) {
		c := t.byName[name]
		if c == nil {
			return faultf(unknownColumn, "No column %s in table %s.", name, t.name)
		}
		if update && !c.mutable {
			return faultf(constraintViolation, "Cannot update immutable column %s in table %s.", name, t.name)
		}
		v, err := decodeWire(cells[name])
		if err != nil {
			return faultf(syntaxError, "%v", err)
		}
		d, f := parseDatum(v, &c.typ, x.names)
		if f != nil {
			return f
		}
		r.cells[c.at] = d
	}
	return nil
}

func (x *txn) update(t *table, op *operation, where []condition) (json.RawMessage, *fault) {
	values := &row{cells: make([]datum, len(t.columns))}
	if f := x.fill(t, values, op.Row, true); f != nil {
		return nil, f
	}
	found := x.find(t, where)
	for _, r := range found {
		next := x.edit(r)
		for name := range op.Row {
			at := t.byName[name].at
			next.cells[at] = values.cells[at]
		}
		x.set(rowKey{t, r.id}, next)
	}
	return counted(len(found)), nil
}

// edit returns a copy of r that can be changed.
func (x *txn) edit(r *row) *row {
	return &row{id: r.id, version: x.newUUID(), cells: slices.Clone(r.cells)}
}

// read runs a select.
func (x *txn) read(t *table, op *operation, where []condition) (json.RawMessage, *fault) {
	columns, extra := t.columns, []string{"_uuid", "_version"}
	if op.Columns != nil {
		columns, extra = nil, nil
		for _, name := range op.Columns {
			switch c := t.byName[name]; {
			case c != nil:
				columns = append(columns, c)
			case name == "_uuid" || name == "_version":
				extra = append(extra, name)
			default:
				return nil, faultf(syntaxError, "%s is not a valid column name", name)
			}
		}
	}
	b := []byte(`{"rows":[`)
	for i, r := range x.find(t, where) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCells(b, r, columns, extra...)
	}
	return append(b, "]}"...), nil
}
