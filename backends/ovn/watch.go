package ovn

import (
	"context"
	"errors"
	"maps"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// watch is how the backend notices changes by others to its rows.
type watch struct {
	client *ovsdb.Client
	names  nb.Namer
	log    logrus.FieldLogger

	on      bool                // changes are recorded
	unknown bool                // others changed more of our rows than touched has
	touched map[string]*touched // rows that others changed and no applied plan has repaired, by UUID
	warned  uint64              // the epoch for which the log says that changes cannot be watched
}

// maxTouched is how many changed rows are repaired by themselves; more are read back with all others.
const maxTouched = 1000

// touched is a row that others changed.
type touched struct {
	table   string
	gone    bool // it was deleted or lost its mark
	columns map[string]bool
}

// watches lists the rows whose changes are recorded: those with our mark and, as they cannot carry it, all load balancer
// groups, what switches and routers refer to, and the options of the database.
func watches(owner string) []ovsdb.RowWatch {
	marked := ovsdb.WithExternalID(map[string]string{nb.KeyOwner: owner})
	var out []ovsdb.RowWatch
	for _, table := range nb.Tables() {
		w := ovsdb.RowWatch{Table: table, Columns: columnNamesOf(table), Inserts: true, Updates: true, Deletes: true}
		if table != nb.TableLoadBalancerGroup {
			w.Where = marked
		}
		out = append(out, w)
	}
	for _, table := range []string{nb.TableSwitch, nb.TableRouter} {
		columns := slices.DeleteFunc(columnNamesOf(table), func(c string) bool { return !nb.RefersToRows(c) })
		out = append(out, ovsdb.RowWatch{Table: table, Columns: columns, Updates: true})
	}
	return append(out, ovsdb.RowWatch{Table: tableGlobal, Columns: []string{columnOptions}, Inserts: true, Updates: true})
}

func columnNamesOf(table string) []string { return slices.Sorted(maps.Keys(nb.ColumnsOf(table))) }

// begin starts recording changes to our rows, and drops those recorded so far: a read-back follows.
func (w *watch) begin(ctx context.Context) error {
	err := w.client.WatchRows(ctx, watches(w.names.Owner))
	w.on, w.unknown, w.touched = err == nil, false, nil
	if !errors.Is(err, ovsdb.ErrNoConditions) {
		return err
	}
	if epoch := w.client.Epoch(); w.warned != epoch {
		w.warned = epoch
		w.log.WithError(err).Warn("changes by others are found at the drift interval only")
	}
	return nil
}

// check reports whether others changed our rows. The model is nil if it is not known what the target has.
func (w *watch) check(m *model) bool {
	if w.on {
		w.judge(m, nil, w.reported(nil, &reports{}))
	}
	return w.unknown || len(w.touched) > 0
}

// reported adds the changes recorded since the last call to those that were reported with earlier transactions of a plan.
func (w *watch) reported(ops []*nb.Op, all *reports) *reports {
	changes, complete := w.client.RowChanges()
	all.add(ops, changes, complete)
	return all
}

// judge compares the reported changes with what applied ops ought to have changed, and notes the rows that others changed. It
// returns the expectations that were not fully met.
func (w *watch) judge(m *model, expected expectations, all *reports) []*expectation {
	if all.incomplete {
		w.lose()
		return nil
	}
	for i := range all.others {
		change := &all.others[i]
		if change.Table == tableGlobal {
			if changesDefault(change) {
				w.lose()
				return nil
			}
			continue
		}
		e := expected[change.UUID]
		if e == nil && !m.concerns(change) || e != nil && e.explains(m.ownsReferent, change) {
			continue
		}
		w.touch(change)
		delete(expected, change.UUID)
	}
	var doubtful []*expectation
	for _, e := range expected {
		switch e.outcome(w.portExists) {
		case met:
		case short:
			doubtful = append(doubtful, e)
		case other:
			w.suspect(e)
		}
	}
	return doubtful
}

func (w *watch) portExists(uuid string) bool {
	_, ok := w.client.PortName(uuid)
	return ok
}

// checkApplied checks that the database has the result of ops, and that no other changes were made to our rows
// meanwhile. A server reports the changes of a transaction before it replies. An op that did not change anything is not
// reported; then the row is read.
func (w *watch) checkApplied(ctx context.Context, m *model, ops []*nb.Op, all *reports) {
	if !w.on {
		return
	}
	for _, e := range w.judge(m, expect(w.names, ops, all), all) {
		rows, err := w.client.Select(ctx, e.table, e.proof(), "_uuid")
		if err != nil || len(rows) == 0 {
			w.suspect(e)
		}
	}
}

// touch notes a row that others changed.
func (w *watch) touch(change *ovsdb.RowChange) {
	t := w.note(change.Table, change.UUID)
	if t == nil {
		return
	}
	t.gone = t.gone || change.Event == ovsdb.RowDeleted
	for column := range change.Columns {
		t.columns[column] = true
	}
}

// suspect notes a row that does not have what was written.
func (w *watch) suspect(e *expectation) {
	if t := w.note(e.table, e.uuid); t != nil {
		t.gone = t.gone || e.created // the reports do not tell whether it still exists
		for column := range e.cells {
			t.columns[column] = true
		}
	}
}

// note returns the note about a row; nil if there are too many.
func (w *watch) note(table, uuid string) *touched {
	if w.unknown {
		return nil
	}
	t := w.touched[uuid]
	if t == nil {
		if len(w.touched) == maxTouched {
			w.lose()
			return nil
		}
		if w.touched == nil {
			w.touched = map[string]*touched{}
		}
		t = &touched{table: table, columns: map[string]bool{}}
		w.touched[uuid] = t
		w.log.WithFields(logrus.Fields{"table": table, "row": uuid}).Debug("a row was changed by someone else")
	}
	return t
}

// lose asks for a read-back. Changes before it begins need not be watched.
func (w *watch) lose() {
	w.client.IgnoreRows()
	w.on, w.unknown, w.touched = false, true, nil
}

// settle forgets rows whose repair was applied.
func (w *watch) settle(rows map[string]*touched) {
	for uuid, t := range rows {
		if w.touched[uuid] == t {
			delete(w.touched, uuid)
		}
	}
}

// concerns reports whether an unexpected change concerns us: for rows without a mark, whether the model has them, and for
// references, whether they are to our rows.
func (m *model) concerns(change *ovsdb.RowChange) bool {
	switch change.Table {
	case nb.TableLoadBalancerGroup:
		return m != nil && m.loadBalancers.OwnsGroup(change.UUID)
	case nb.TableSwitch, nb.TableRouter:
		for column := range change.Columns {
			if slices.ContainsFunc(ovsdb.Strings(change.Columns[column]), m.ownsReferent) {
				return true
			}
		}
		return false
	default:
		return true
	}
}

// ownsReferent reports whether a row that switches and routers may refer to is ours.
func (m *model) ownsReferent(uuid string) bool { return m != nil && m.loadBalancers.Owns(uuid) }

// proof returns the condition that matches the row of e if it has the expected elements that were not reported.
func (e *expectation) proof() []libovsdb.Condition {
	where := ovsdb.ByUUID(e.uuid)
	for column, c := range e.cells {
		var has, lacks []string
		for key := range c.known {
			_, wanted := c.want[key]
			switch _, there := c.state[key]; {
			case there == wanted:
			case wanted:
				has = append(has, key)
			default:
				lacks = append(lacks, key)
			}
		}
		where = append(where, clause(e.table, column, libovsdb.ConditionIncludes, has, c.want)...)
		where = append(where, clause(e.table, column, libovsdb.ConditionExcludes, lacks, c.state)...)
	}
	return where
}

// clause returns the condition that a column includes or excludes the elements of keys, in a map with the values that they
// have in pairs; nothing if there are no keys.
func clause(
	table, column string, function libovsdb.ConditionFunction, keys []string, pairs map[string]string,
) []libovsdb.Condition {
	if len(keys) == 0 {
		return nil
	}
	var value any = ovsdb.Set(keys)
	switch {
	case nb.ColumnsOf(table)[column] == nb.ColumnPairs:
		some := map[string]string{}
		for _, k := range keys {
			some[k] = pairs[k]
		}
		value = ovsdb.Map(some)
	case nb.RefersToRows(column):
		value = ovsdb.UUIDs(keys)
	}
	return []libovsdb.Condition{{Column: column, Function: function, Value: value}}
}
