package ovn

import (
	"encoding/json"
	"strings"
)

// database is a set of tables with their rows. It is not safe for concurrent use: Server guards it.
type database struct {
	name    string
	version string
	schema  json.RawMessage
	tables  map[string]*table
	rows    map[*table]map[rowID]*row
	index   map[*table][]map[string]rowID // one map per index of the table
	strong  map[rowKey]int                // how many strong references point at a row
	weak    map[rowKey]map[rowKey]int     // the rows that reference a row weakly, and how often
}

// row is never changed: a transaction makes a new one.
type row struct {
	id      rowID
	version rowID
	cells   []datum // by column.at
}

type rowKey struct {
	table *table
	id    rowID
}

// newDatabase makes an empty database.
func newDatabase(schema []byte) (*database, error) {
	parsed, err := parsedSchemas.Get(schema, parseSchema)
	if err != nil {
		return nil, err
	}
	db := &database{
		name:    parsed.name,
		version: parsed.version,
		schema:  json.RawMessage(schema),
		tables:  parsed.tables,
		rows:    make(map[*table]map[rowID]*row),
		index:   make(map[*table][]map[string]rowID),
		strong:  make(map[rowKey]int),
		weak:    make(map[rowKey]map[rowKey]int),
	}
	for _, t := range parsed.tables {
		db.rows[t] = make(map[rowID]*row)
		for range t.indexes {
			db.index[t] = append(db.index[t], make(map[string]rowID))
		}
	}
	return db, nil
}

// indexKey is the values of r in the columns of an index.
func indexKey(r *row, columns []*column) string {
	var b []byte
	for _, c := range columns {
		b = append(appendDatum(b, r.cells[c.at], &c.typ), ',')
	}
	return strings.TrimSuffix(string(b), ",")
}

// eachRef calls f for each reference, weak or strong, that is in now but not in old (sign 1), or in old but not in now
// (-1). Either row may be nil.
func (t *table) eachRef(old, now *row, weak bool, f func(c *column, to rowKey, sign int)) {
	for _, c := range t.columns {
		if !c.refs(weak) {
			continue
		}
		var was, is datum
		if old != nil {
			was = old.cells[c.at]
		}
		if now != nil {
			is = now.cells[c.at]
		}
		if c.refKey != nil && (c.typ.key.RefType == "weak") == weak {
			eachChange(was.keys, is.keys, func(atom any, sign int) { f(c, rowKey{c.refKey, atom.(rowID)}, sign) })
		}
		if c.refVal != nil && (c.typ.value.RefType == "weak") == weak {
			for _, v := range was.vals {
				f(c, rowKey{c.refVal, v.(rowID)}, -1)
			}
			for _, v := range is.vals {
				f(c, rowKey{c.refVal, v.(rowID)}, 1)
			}
		}
	}
}

// eachChange calls f for each atom that is in only one of two ordered lists.
func eachChange(was, is []any, f func(atom any, sign int)) {
	if len(was) == len(is) && len(was) > 0 && &was[0] == &is[0] {
		return
	}
	for i, j := 0, 0; i < len(was) || j < len(is); {
		switch order := mergeOrder(was, i, is, j); {
		case order < 0:
			f(was[i], -1)
			i++
		case order > 0:
			f(is[j], 1)
			j++
		default:
			i++
			j++
		}
	}
}

// apply carries out the changes of a checked transaction.
func (db *database) apply(changes []*change) {
	for _, ch := range changes {
		db.countRefs(ch)
		for i, columns := range ch.key.table.indexes {
			if ch.old != nil {
				delete(db.index[ch.key.table][i], indexKey(ch.old, columns))
			}
		}
	}
	for _, ch := range changes {
		if ch.now == nil {
			delete(db.rows[ch.key.table], ch.key.id)
			continue
		}
		db.rows[ch.key.table][ch.key.id] = ch.now
		for i, columns := range ch.key.table.indexes {
			db.index[ch.key.table][i][indexKey(ch.now, columns)] = ch.key.id
		}
	}
}

// countRefs updates the reference counts.
func (db *database) countRefs(ch *change) {
	ch.key.table.eachRef(ch.old, ch.now, false, func(_ *column, to rowKey, sign int) {
		if to.id == ch.key.id {
			return // A reference to itself does not keep a row. The real server compares uuids alone, whatever the table.
		}
		if db.strong[to] += sign; db.strong[to] == 0 {
			delete(db.strong, to)
		}
	})
	ch.key.table.eachRef(ch.old, ch.now, true, func(_ *column, to rowKey, sign int) {
		from := db.weak[to]
		if from == nil {
			from = make(map[rowKey]int)
			db.weak[to] = from
		}
		if from[ch.key] += sign; from[ch.key] == 0 {
			delete(from, ch.key)
		}
		if len(from) == 0 {
			delete(db.weak, to)
		}
	})
}
