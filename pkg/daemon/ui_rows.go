package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/webui"
)

const (
	shownRows = 200             // of an object in a target
	rowsWait  = 5 * time.Second // how long reading them may take
)

// Rows reads the rows of an object from the first target, by a connection of its own. One request at a time: each may
// read many.
func (u *ui) Rows(ctx context.Context, kind, namespace, name string) []webui.TargetRows {
	if len(u.daemon.targets) == 0 {
		return []webui.TargetRows{} // there are CNFs alone
	}
	out := webui.TargetRows{Target: u.daemon.targets[0].Name}
	ctx, cancel := context.WithTimeout(ctx, rowsWait)
	defer cancel()
	select {
	case u.reading <- struct{}{}:
		defer func() { <-u.reading }()
	case <-ctx.Done():
		out.Error = errBusy.Error()
		return []webui.TargetRows{out}
	}
	rows, err := u.readRows(ctx, out.Target, object.Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil {
		out.Error = err.Error()
		return []webui.TargetRows{out}
	}
	out.Counts = map[string]int{}
	for i := range rows {
		out.Counts[rows[i].Table]++
	}
	out.Rows = rows[:min(len(rows), shownRows)]
	out.More = len(rows) - len(out.Rows)
	return []webui.TargetRows{out}
}

// readRows reads the rows of an object from a target, by a connection of its own.
func (u *ui) readRows(ctx context.Context, target string, of object.Ref) (rows []webui.Row, err error) {
	settings := u.daemon.opts.Target
	settings.ReadOnly, settings.Log = true, nil
	t, err := builtin.New(target, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Backend.Close()) }()
	reader, ok := t.Backend.(backends.RowReader)
	if !ok {
		return nil, fmt.Errorf("rows of target %s cannot be read", target)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- t.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-done)
	}()
	if err := awaitConnection(ctx, t); err != nil {
		return nil, err
	}
	found, err := reader.ReadRows(ctx, of)
	for _, r := range found {
		rows = append(rows, webui.Row(r))
	}
	return rows, err
}

func awaitConnection(ctx context.Context, t *builtin.Target) error {
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	for t.Up != nil && !t.Up() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no connection within %s: %w", rowsWait, ovsdb.ErrNotConnected)
		case <-tick.C:
		}
	}
	return nil
}
