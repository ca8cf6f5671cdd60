package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/webui"
)

const (
	shownRows = 200             // of an object in a target
	rowsWait  = 5 * time.Second // how long reading them may take
)

// Rows reads the rows of an object from the OVN target, by a connection of its own. One request at a time: each reads
// all ACLs of the owner, since a row may be shared.
func (u *ui) Rows(ctx context.Context, kind, namespace, name string) []webui.TargetRows {
	if len(u.daemon.targets) == 0 {
		return []webui.TargetRows{} // there are gateways alone
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
	rows, err := u.readRows(ctx, kind+"/"+namespace+"/"+name)
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

// readRows finds the ACLs that came from an object, and the groups and sets that they name.
func (u *ui) readRows(ctx context.Context, object string) (rows []webui.Row, err error) {
	settings := &u.daemon.opts.Target
	client, err := ovsdb.New(ovsdb.Options{Endpoints: settings.OVN.Endpoints, TLS: settings.OVN.TLS, MaxReply: settings.OVN.MaxReply})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-done)
	}()
	if err := awaitConnection(ctx, client); err != nil {
		return nil, err
	}
	owned := []libovsdb.Condition{{
		Column: "external_ids", Function: libovsdb.ConditionIncludes,
		Value: libovsdb.OvsMap{GoMap: map[any]any{ovn.KeyOwner: settings.Owner}},
	}}
	acls, err := client.Select(ctx, "ACL", owned, "direction", "priority", "match", "action", "external_ids")
	if err != nil {
		return nil, fmt.Errorf("read ACL: %w", err)
	}
	namedBy := map[string]bool{}
	for _, r := range acls {
		row, ok := rowOf(r, object)
		if !ok {
			continue
		}
		rows = append(rows, row)
		for _, n := range symbols.FindAllString(ovsdb.String(r["match"]), -1) {
			namedBy[n[1:]] = true
		}
	}
	for _, table := range []string{"Port_Group", "Address_Set"} {
		found, err := client.Select(ctx, table, owned, "name", "external_ids")
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		for _, r := range found {
			if n := ovsdb.String(r["name"]); namedBy[n] {
				rows = append(rows, webui.Row{
					Table: table, Name: n, UUID: ovsdb.String(r["_uuid"]), Text: ovsdb.StringMap(r["external_ids"])[ovn.KeyTitle],
				})
			}
		}
	}
	slices.SortFunc(rows, func(a, b webui.Row) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text),
			strings.Compare(a.Name, b.Name))
	})
	return rows, nil
}

// symbols are the groups and sets that a match names.
var symbols = regexp.MustCompile(`[@$][a-zA-Z_.][a-zA-Z_.0-9]*`)

// rowOf is an ACL, if it came from the object or is shared with it.
func rowOf(r libovsdb.Row, object string) (webui.Row, bool) {
	ids := ovsdb.StringMap(r["external_ids"])
	row := webui.Row{
		Table: "ACL", UUID: ovsdb.String(r["_uuid"]), Rule: strings.TrimPrefix(ids[ovn.KeyRule], "spec."), Also: ids[ovn.KeyAlso],
		Text:   ovsdb.String(r["match"]),
		Action: fmt.Sprintf("%s %v %s", ovsdb.String(r["direction"]), r["priority"], ovsdb.String(r["action"])),
	}
	if strings.Join([]string{ids[ovn.KeyKind], ids[ovn.KeyNamespace], ids[ovn.KeyName]}, "/") == object {
		return row, true
	}
	for also := range strings.SplitSeq(ids[ovn.KeyAlso], "; ") {
		origin, rule, _ := strings.Cut(also, " ")
		if origin == object || strings.HasSuffix(origin, "/"+object) {
			row.Rule = strings.TrimPrefix(rule, "spec.")
			row.Also = ids[ovn.KeyKind] + "/" + ids[ovn.KeyNamespace] + "/" + ids[ovn.KeyName] + " " + ids[ovn.KeyRule]
			return row, true
		}
	}
	return webui.Row{}, false
}

func awaitConnection(ctx context.Context, client *ovsdb.Client) error {
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	for !client.Connected() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no connection within %s: %w", rowsWait, ovsdb.ErrNotConnected)
		case <-tick.C:
		}
	}
	return nil
}
