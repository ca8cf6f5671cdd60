package live

import (
	"context"
	"errors"
	"time"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/web"
)

const (
	shownRows = 200             // of an object in a target
	rowsWait  = 5 * time.Second // how long reading them may take
)

// errBusy is the answer to a request that waited too long for another.
var errBusy = errors.New("the rows of another object are being read; try again when that is done")

// Rows reads the rows of an object from the first target, over a separate connection. One request at a time: each may
// read many.
func (p *Page) Rows(ctx context.Context, kind, namespace, name string) []web.TargetRows {
	targets := p.state.Targets()
	if len(targets) == 0 || targets[0].CNF != nil {
		return []web.TargetRows{} // there are only CNFs
	}
	out := web.TargetRows{Target: targets[0].Name}
	ctx, cancel := context.WithTimeout(ctx, rowsWait)
	defer cancel()
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-ctx.Done():
		out.Error = errBusy.Error()
		return []web.TargetRows{out}
	}
	rows, err := p.state.ReadRows(ctx, out.Target, object.Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil {
		out.Error = err.Error()
		return []web.TargetRows{out}
	}
	out.Counts = map[string]int{}
	for i := range rows {
		out.Counts[rows[i].Table]++
	}
	for _, row := range rows[:min(len(rows), shownRows)] {
		out.Rows = append(out.Rows, web.Row(row))
	}
	out.More = len(rows) - len(out.Rows)
	return []web.TargetRows{out}
}
