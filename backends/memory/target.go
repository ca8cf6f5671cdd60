package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/netloom/netloom/backends"
)

// ErrInjected is the error of a write that FailAt makes fail.
var ErrInjected = errors.New("write failed on demand")

// Target is a store of rows that outlives the backends writing to it, as a database outlives its clients.
// It is safe for concurrent use.
type Target struct {
	mu     sync.Mutex
	rows   map[string]map[id]Row // by owner
	claims map[string]Claim      // likewise
	writes int
	failAt int
	loseAt int
}

// NewTarget returns a store without rows.
func NewTarget() *Target {
	return &Target{rows: make(map[string]map[id]Row), claims: make(map[string]Claim)}
}

// FailAt makes the k-th write from now fail once, leaving no trace; 0 takes that back.
func (t *Target) FailAt(k int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failAt = k
}

// LoseAt makes the k-th write from now report a failure although it is done; 0 takes that back.
func (t *Target) LoseAt(k int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loseAt = k
}

// Writes counts the transactions committed so far.
func (t *Target) Writes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// Rows copies the rows of an owner, ordered by kind and name.
func (t *Target) Rows(owner string) []Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]Row, 0, len(t.rows[owner]))
	for _, k := range slices.SortedFunc(maps.Keys(t.rows[owner]), compareIDs) {
		rows = append(rows, t.rows[owner][k].clone())
	}
	return rows
}

// Put writes a row behind every backend's back, replacing one of the same owner, kind and name.
func (t *Target) Put(r Row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table(r.Owner)[r.id()] = r.clone()
}

// Remove deletes a row behind every backend's back, if it is there.
func (t *Target) Remove(owner, kind, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows[owner], id{kind, name})
}

// Dump formats the rows of every owner, one a line, ordered by owner, kind and name.
func (t *Target) Dump() string {
	t.mu.Lock()
	owners := slices.Sorted(maps.Keys(t.rows))
	t.mu.Unlock()
	var b strings.Builder
	for _, o := range owners {
		for _, r := range t.Rows(o) {
			fmt.Fprintf(&b, "%q %s\n", o, r)
		}
	}
	return b.String()
}

func (t *Target) table(owner string) map[id]Row {
	if t.rows[owner] == nil {
		t.rows[owner] = make(map[id]Row)
	}
	return t.rows[owner]
}

// transact applies all of ops to the rows of b's owner, or none if one of them does not fit the rows, or if b must not
// write.
func (t *Target) transact(b *Backend, ops []backends.Op) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	owner := b.owner
	if err := b.allowed(); err != nil {
		return err
	}
	if t.failAt > 0 {
		if t.failAt--; t.failAt == 0 {
			return ErrInjected
		}
	}
	staged := make(map[id]*Row, len(ops))
	for i := range ops {
		if err := t.stage(owner, staged, &ops[i]); err != nil {
			return fmt.Errorf("%s %s %q: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, err)
		}
	}
	table := t.table(owner)
	for k, r := range staged {
		if r == nil {
			delete(table, k)
		} else {
			table[k] = *r
		}
	}
	t.writes++
	if t.loseAt > 0 {
		if t.loseAt--; t.loseAt == 0 {
			return ErrInjected
		}
	}
	return nil
}

// stage computes what one op makes of its row; nil means a row that is deleted.
func (t *Target) stage(owner string, staged map[id]*Row, op *backends.Op) error {
	k := id{op.Kind, op.Name}
	if _, twice := staged[k]; twice {
		return errors.New("the row is written twice in one transaction")
	}
	old, exists := t.rows[owner][k]
	switch op.Verb {
	case backends.Create:
		if exists {
			return errors.New("the row exists")
		}
		r := Row{Owner: owner, Kind: op.Kind, Name: op.Name, Fields: op.After}.clone()
		staged[k] = &r
	case backends.Reload:
		return errors.New("rows need no reload")
	case backends.Update, backends.Mutate:
		if !exists {
			return errors.New("no such row")
		}
		r := rewrite(old, op)
		staged[k] = &r
	case backends.Delete:
		if !exists {
			return errors.New("no such row")
		}
		staged[k] = nil
	default:
		return errors.New("no such verb")
	}
	return nil
}

func rewrite(old Row, op *backends.Op) Row {
	r := old
	r.Fields = maps.Clone(old.Fields)
	for field := range op.Before {
		if _, stays := op.After[field]; !stays && op.Verb == backends.Update {
			delete(r.Fields, field)
		}
	}
	for field, v := range op.After {
		r.Fields[field] = v
	}
	if op.Verb != backends.Mutate {
		return r
	}
	for _, field := range mutable(op.Kind) {
		switch have := old.Fields[field].(type) {
		case []string:
			gone, _ := op.Before[field].([]string)
			come, _ := op.After[field].([]string)
			r.Fields[field] = edit(have, gone, come)
		case map[string]string:
			gone, _ := op.Before[field].(map[string]string)
			come, _ := op.After[field].(map[string]string)
			r.Fields[field] = replace(have, gone, come)
		}
	}
	return r
}

// Dangling lists the references of rows to missing sets, sorted.
func (t *Target) Dangling() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []string
	for owner, rows := range t.rows {
		for _, r := range rows {
			for _, set := range references(r) {
				if _, ok := rows[id{kindSet, set}]; !ok {
					found = append(found, fmt.Sprintf("%q %s %q names set %q", owner, r.Kind, r.Name, set))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}
