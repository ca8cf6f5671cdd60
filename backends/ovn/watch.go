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

// watch is how the backend notices what others do to rows of its own.
type watch struct {
	on      bool   // changes are recorded
	changed bool   // somebody else changed rows of ours since the last read-back began
	warned  uint64 // the epoch for which the log says that changes cannot be watched
}

// watches lists the rows whose changes are recorded: those with our mark and, as they cannot carry it, all load balancer
// groups, and what switches and routers refer to.
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
	return out
}

func columnNamesOf(table string) []string { return slices.Sorted(maps.Keys(nb.ColumnsOf(table))) }

// beginWatch records from now on what happens to rows of ours, and forgets what did so far: a read-back follows.
func (b *Backend) beginWatch(ctx context.Context) error {
	err := b.client.WatchRows(ctx, watches(b.names.Owner))
	b.watch.on, b.watch.changed = err == nil, false
	if !errors.Is(err, ovsdb.ErrNoConditions) {
		return err
	}
	if epoch := b.client.Epoch(); b.watch.warned != epoch {
		b.watch.warned = epoch
		b.log.WithError(err).Warn("changes by others are found at the drift interval only")
	}
	return nil
}

// ChangedByOthers implements backends.Watcher.
func (b *Backend) ChangedByOthers() bool {
	if b.watch.on {
		b.judge(nil)
	}
	return b.watch.changed
}

// judge compares the changes recorded so far with what applied ops ought to have changed. It returns the expectations of
// which too little was seen.
func (b *Backend) judge(expected expectations) []*expectation {
	changes, complete := b.client.RowChanges()
	if !complete {
		b.suspect("", "")
		return nil
	}
	for i := range changes {
		change := &changes[i]
		e := expected[change.UUID]
		if e == nil && !b.concerns(change) || e != nil && e.explains(b, change) {
			continue
		}
		b.suspect(change.Table, change.UUID)
		return nil
	}
	var doubtful []*expectation
	for uuid, e := range expected {
		switch e.outcome(b) {
		case met:
		case short:
			doubtful = append(doubtful, e)
		case other:
			b.suspect(e.table, uuid)
			return nil
		}
	}
	return doubtful
}

// checkApplied looks whether the database holds what ops made of it, and nothing else happened to rows of ours meanwhile.
// A server reports the changes of a transaction before it replies. An op that found nothing to change is not reported:
// then the row is asked.
func (b *Backend) checkApplied(ctx context.Context, ops []*nb.Op) {
	if !b.watch.on {
		return
	}
	for _, e := range b.judge(b.expect(ops)) {
		rows, err := b.client.Select(ctx, e.table, e.proof(), "_uuid")
		if err != nil || len(rows) == 0 {
			b.suspect(e.table, e.uuid)
			return
		}
	}
}

// suspect asks for a read-back. What happens until it begins needs no look any more.
func (b *Backend) suspect(table, uuid string) {
	b.client.IgnoreRows()
	b.watch.on, b.watch.changed = false, true
	b.log.WithFields(logrus.Fields{"table": table, "row": uuid}).Info("rows were changed by someone else")
}

// concerns says whether a change that nobody expects is one of ours: of the rows without a mark, those that the model
// holds, and of references those to rows of ours.
func (b *Backend) concerns(change *ovsdb.RowChange) bool {
	switch change.Table {
	case nb.TableLoadBalancerGroup:
		return b.ownsGroup(change.UUID)
	case nb.TableSwitch, nb.TableRouter:
		for column := range change.Columns {
			if slices.ContainsFunc(ovsdb.Strings(change.Columns[column]), b.ownsReferent) {
				return true
			}
		}
		return false
	default:
		return true
	}
}

// ownsReferent says whether a row that switches and routers may refer to is ours.
func (b *Backend) ownsReferent(uuid string) bool {
	if b.model == nil {
		return false
	}
	m := b.model.balances
	for _, rows := range m.members {
		if rows[uuid] {
			return true
		}
	}
	return m.bars[uuid] != nil || b.ownsGroup(uuid)
}

// ownsGroup says whether a load balancer group is ours.
func (b *Backend) ownsGroup(uuid string) bool {
	if b.model == nil {
		return false
	}
	m := b.model.balances
	r := &renderer{names: b.names, schema: b.client.Schema(), balancing: b.balancing, taken: m.taken}
	for at := range m.members {
		if r.grouped(at) && r.balancerGroup(at, nil).UUID == uuid {
			return true
		}
	}
	return false
}

// proof is the condition that finds the row of e if it holds what it is to hold, of what e does not know to be there.
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

// clause is the condition that a column includes or excludes the elements of keys, in a map with the values that they have
// in pairs; nothing for no keys.
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
