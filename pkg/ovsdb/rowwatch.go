package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// ErrNoConditions means that the server has no conditional monitors: ovsdb-server before 2.6, or another program.
var ErrNoConditions = errors.New("the server has no conditional monitors")

// maxRowChanges bounds how many unread changes are kept. Those of one's own transactions do not count.
const maxRowChanges = 4096

// RowWatch selects the rows of one table whose changes are recorded.
type RowWatch struct {
	Table string
	// Columns are those whose changes are of interest. Columns that the server lacks are skipped, and a table with none
	// of them is not watched.
	Columns []string
	// Where lists conditions; a row that meets at least one of them is watched. Nil is every row. A row that starts to
	// meet them counts as inserted, one that ceases to as deleted.
	Where                     []ovsdb.Condition
	Inserts, Updates, Deletes bool
}

// RowEvent is what happened to a row. The zero value is none.
type RowEvent uint8

// A row was inserted, updated or deleted; or started or ceased to meet a condition.
const (
	RowInserted RowEvent = iota + 1
	RowUpdated
	RowDeleted
)

// RowChange is one change of a watched row. It is read-only.
type RowChange struct {
	Event RowEvent
	Table string
	UUID  string
	// Columns has, for an inserted row, the watched columns that differ from their default. For an updated row it has the
	// columns that changed: the new value if a column has at most one; for a set the elements that were added or removed;
	// for a map the pairs that were added, removed or changed, with the new value. It is nil for a deleted row.
	Columns ovsdb.Row
}

// rowLog records the changes of watched rows in one session.
type rowLog struct {
	mu        sync.Mutex
	session   *session // the one with the monitor; nil before the first
	refused   *session // one whose server has no conditional monitors
	recording bool
	writing   int // transactions under way
	changes   []RowChange
	overflow  bool // there were more changes than are kept
}

// WatchRows starts to record changes of rows, and clears those recorded so far. The content of the rows is not
// transferred. Everything committed after it returns is recorded, whoever committed it; the caller's own transactions are
// recorded before Transact returns, because a server sends the changes of a transaction before its reply.
//
// A session has one list of watches, that of the first call: call it again for each Epoch. It fails with ErrNoConditions
// if the server does not support it, and with ErrNotConnected.
func (c *Client) WatchRows(ctx context.Context, watches []RowWatch) error {
	s := c.current()
	if s == nil {
		return ErrNotConnected
	}
	log := &c.rows
	log.mu.Lock()
	refused, known := log.refused == s, log.session == s
	if known {
		log.start(s)
	}
	log.mu.Unlock()
	if refused {
		return ErrNoConditions
	}
	if known {
		return nil
	}
	params, err := c.watchRequest(s.schema, watches)
	if err != nil {
		return fmt.Errorf("watch rows: %w", err)
	}
	_, err = s.conn.call(ctx, "monitor_cond", params, selectWeight, func(json.RawMessage) {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.start(s)
	})
	var refusal *rpcError
	if errors.As(err, &refusal) {
		log.mu.Lock()
		log.refused = s
		log.mu.Unlock()
		return fmt.Errorf("%w: %w", ErrNoConditions, err)
	}
	if err != nil {
		return fmt.Errorf("watch rows: %w", err)
	}
	return nil
}

// IgnoreRows ends the recording until WatchRows is called again. Changes then cost nothing but their transfer.
func (c *Client) IgnoreRows() {
	c.rows.mu.Lock()
	defer c.rows.mu.Unlock()
	c.rows.recording, c.rows.changes, c.rows.overflow = false, nil, false
}

// RowChanges returns the changes recorded since the last call, in the order in which they were reported, and clears them.
// Several changes of one row may be reported as one. If there were more changes than can be kept, it returns none and
// complete is false. Wake receives after a change that is recorded while no Transact is in progress.
func (c *Client) RowChanges() (changes []RowChange, complete bool) {
	c.rows.mu.Lock()
	defer c.rows.mu.Unlock()
	changes, complete = c.rows.changes, !c.rows.overflow
	c.rows.changes, c.rows.overflow = nil, false
	return changes, complete
}

func (l *rowLog) start(s *session) {
	l.session, l.recording, l.changes, l.overflow = s, true, nil, false
}

// writes records that a transaction begins (1) or has ended (-1).
func (l *rowLog) writes(step int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing += step
}

// watchRequest encodes the parameters of a monitor request. The deletion of logical ports is always watched: see
// withoutDangling.
func (c *Client) watchRequest(schema Schema, watches []RowWatch) ([]byte, error) {
	watches = append(slices.Clone(watches), RowWatch{Table: tableLogicalPort, Columns: []string{"name"}, Deletes: true})
	b := append(appendString([]byte{'['}, c.opts.Database), ',')
	b = append(appendString(b, monitorRows), `,{`...)
	first := true
	for _, w := range watches {
		columns := slices.DeleteFunc(slices.Clone(w.Columns), func(c string) bool { return !schema.HasColumn(w.Table, c) })
		if len(columns) == 0 {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendStrings(append(appendString(b, w.Table), `:{"columns":`...), columns)
		if len(w.Where) > 0 {
			var err error
			if b, err = appendWhere(append(b, `,"where":`...), w.Where); err != nil {
				return nil, err
			}
		}
		b = fmt.Appendf(b, `,"select":{"initial":false,"insert":%t,"modify":%t,"delete":%t}}`, w.Inserts, w.Updates, w.Deletes)
	}
	return append(b, "}]"...), nil
}

// rowsChanged handles an update of the monitor of rows. The reader of s calls it.
func (c *Client) rowsChanged(s *session, raw json.RawMessage) error {
	log := &c.rows
	log.mu.Lock()
	listening := log.session == s && log.recording && !log.overflow
	log.mu.Unlock()
	if !listening {
		return nil
	}
	changes, err := parseRowChanges(raw)
	if err != nil || len(changes) == 0 {
		return err
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if log.session != s || !log.recording {
		return nil
	}
	log.changes = append(log.changes, changes...)
	if log.writing > 0 {
		return nil
	}
	if len(log.changes) > maxRowChanges {
		log.changes, log.overflow = nil, true
	}
	c.wakeUp()
	return nil
}

// parseRowChanges reads the tables of an update2 notification.
func parseRowChanges(raw json.RawMessage) ([]RowChange, error) {
	var tables map[string]map[string]struct {
		Insert map[string]any `json:"insert"`
		Modify map[string]any `json:"modify"`
	}
	if err := json.Unmarshal(raw, &tables); err != nil {
		return nil, fmt.Errorf("read changes of rows: %w", err)
	}
	gone := map[string]bool{}
	var changes []RowChange
	for table, rows := range tables {
		for uuid, row := range rows {
			change := RowChange{Table: table, UUID: uuid}
			switch {
			case row.Insert != nil:
				change.Event, change.Columns = RowInserted, row.Insert
			case row.Modify != nil:
				change.Event, change.Columns = RowUpdated, row.Modify
			default:
				change.Event = RowDeleted
				gone[uuid] = true
			}
			for column, value := range change.Columns {
				change.Columns[column] = fromWire(value)
			}
			changes = append(changes, change)
		}
	}
	return slices.DeleteFunc(changes, func(change RowChange) bool {
		if change.Event == RowUpdated {
			withoutDangling(change.Columns, gone)
			return len(change.Columns) == 0
		}
		return change.Table == tableLogicalPort
	}), nil
}

// withoutDangling removes from the changes of a row the references to rows that are deleted by the same update: the
// database itself removes weak references, such as a deleted port from its groups.
func withoutDangling(columns ovsdb.Row, gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	isGone := func(v any) bool {
		id, ok := v.(ovsdb.UUID)
		return ok && gone[id.GoUUID]
	}
	for column, value := range columns {
		set, ok := value.(ovsdb.OvsSet)
		if !ok {
			if isGone(value) {
				delete(columns, column)
			}
			continue
		}
		left := slices.DeleteFunc(set.GoSet, isGone)
		if len(left) == 0 && len(set.GoSet) > 0 {
			delete(columns, column)
			continue
		}
		columns[column] = ovsdb.OvsSet{GoSet: left}
	}
}
