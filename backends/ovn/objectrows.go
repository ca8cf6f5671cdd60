package ovn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// ReadRows implements backends.RowReader. It reads all ACLs of the owner, since a row may be shared, and the port groups and
// address sets that the object's ACLs name. Those of a Service are its load balancers.
func (b *Backend) ReadRows(ctx context.Context, of object.Ref) ([]backends.Row, error) {
	if of.Kind == object.KindService {
		return b.readLoadBalancers(ctx, of)
	}
	owned := ovsdb.WithExternalID(map[string]string{nb.KeyOwner: b.names.Owner})
	found := map[string][]libovsdb.Row{}
	notes := mentioned{}
	for _, table := range []string{nb.TableACL, nb.TablePortGroup, nb.TableAddressSet} {
		columns := []string{"name", nb.ColumnExternalIDs}
		if table == nb.TableACL {
			columns = []string{"direction", "priority", "match", "action", nb.ColumnExternalIDs}
		}
		rows, err := b.client.Select(ctx, table, owned, columns...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		found[table] = rows
		for _, r := range rows {
			switch ids := ovsdb.StringMap(r[nb.ColumnExternalIDs]); table {
			case nb.TableACL:
				notes.acl(ovsdb.String(r["_uuid"]), ids)
			case nb.TableAddressSet:
				notes.addressSet(ids)
			}
		}
	}
	var rows []backends.Row
	namedBy := map[string]bool{}
	for _, r := range found[nb.TableACL] {
		row, ok := objectACL(r, notes, of)
		if !ok {
			continue
		}
		rows = append(rows, row)
		for _, m := range symbol.FindAllStringSubmatch(ovsdb.String(r["match"]), -1) {
			namedBy[m[1]] = true
		}
	}
	for _, table := range []string{nb.TablePortGroup, nb.TableAddressSet} {
		for _, r := range found[table] {
			if n := ovsdb.String(r["name"]); namedBy[n] {
				rows = append(rows, backends.Row{
					Table: table, Name: n, UUID: ovsdb.String(r["_uuid"]), Text: ovsdb.StringMap(r[nb.ColumnExternalIDs])[nb.KeyTitle],
				})
			}
		}
	}
	slices.SortFunc(rows, func(a, b backends.Row) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text),
			strings.Compare(a.Name, b.Name))
	})
	return rows, nil
}

// readLoadBalancers reads the load balancers of a Service.
func (b *Backend) readLoadBalancers(ctx context.Context, of object.Ref) ([]backends.Row, error) {
	found, err := b.client.Select(ctx, nb.TableLoadBalancer, ovsdb.WithExternalID(map[string]string{
		nb.KeyOwner: b.names.Owner, nb.KeyKind: of.Kind, nb.KeyNamespace: of.Namespace, nb.KeyName: of.Name,
	}), "name", "protocol", "vips")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", nb.TableLoadBalancer, err)
	}
	var rows []backends.Row
	for _, r := range found {
		vips := ovsdb.StringMap(r["vips"])
		for _, vip := range slices.Sorted(maps.Keys(vips)) {
			rows = append(rows, backends.Row{
				Table: nb.TableLoadBalancer, Name: ovsdb.String(r["name"]), UUID: ovsdb.String(r["_uuid"]),
				Text: vip + " to " + cmp.Or(vips[vip], "nothing"), Action: ovsdb.String(r["protocol"]),
			})
		}
	}
	slices.SortFunc(rows, func(a, b backends.Row) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.UUID, b.UUID), strings.Compare(a.Text, b.Text))
	})
	return rows, nil
}

// objectACL returns an ACL, if it came from an object or is shared with it.
func objectACL(r libovsdb.Row, notes mentioned, of object.Ref) (backends.Row, bool) {
	ids := ovsdb.StringMap(r[nb.ColumnExternalIDs])
	row := backends.Row{
		Table: nb.TableACL, UUID: ovsdb.String(r["_uuid"]), Rule: nb.ShortRule(ids[nb.KeyRule]),
		Text:   ovsdb.String(r["match"]),
		Action: fmt.Sprintf("%s %v %s", ovsdb.String(r["direction"]), r["priority"], ovsdb.String(r["action"])),
	}
	also := notes.of(row.UUID, row.Text)
	row.Also = strings.Join(also, "; ")
	if (object.Ref{Kind: ids[nb.KeyKind], Namespace: ids[nb.KeyNamespace], Name: ids[nb.KeyName]}) == of {
		return row, true
	}
	for _, other := range also {
		origin, rule, _ := strings.Cut(other, " ")
		if ref, ok := refOfOrigin(origin); ok && ref == of {
			row.Rule = nb.ShortRule(rule)
			row.Also = intent.Origin{Kind: ids[nb.KeyKind], Namespace: ids[nb.KeyNamespace], Name: ids[nb.KeyName]}.String() + " " + ids[nb.KeyRule]
			if ids[nb.KeyKind] == "" {
				row.Also = strings.Join(slices.DeleteFunc(slices.Clone(also), func(rule string) bool { return rule == other }), noteSeparator)
			}
			return row, true
		}
	}
	return backends.Row{}, false
}
