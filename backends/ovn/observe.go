package ovn

import (
	"context"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// columnKind says how a column is read and written.
type columnKind uint8

const (
	columnString columnKind = iota + 1
	columnOptional
	columnInt
	columnBool
	columnMap
	columnSet
)

// columnsOf lists the columns of ours in each table, with their kinds (ovn-nb.ovsschema).
func columnsOf(table string) map[string]columnKind {
	switch table {
	case tableACL:
		return map[string]columnKind{
			"action": columnString, "direction": columnString, "priority": columnInt, "match": columnString,
			"name": columnOptional, "options": columnMap, "external_ids": columnMap, "log": columnBool,
			"severity": columnOptional, "meter": columnOptional, "tier": columnInt,
		}
	case tableAddressSet:
		return map[string]columnKind{"name": columnString, "external_ids": columnMap, "addresses": columnSet}
	case tableMeter:
		return map[string]columnKind{
			"name": columnString, "unit": columnString, "fair": columnBool, "bands": columnSet, "external_ids": columnMap,
		}
	case tableMeterBand:
		return map[string]columnKind{
			"action": columnString, "rate": columnInt, "burst_size": columnInt, "external_ids": columnMap,
		}
	case tablePortGroup:
		return map[string]columnKind{
			"name": columnString, "external_ids": columnMap, "ports": columnSet, "acls": columnSet,
		}
	default:
		return nil
	}
}

// tables lists the tables that hold rows of ours, those first that others refer to.
func tables() []string {
	return []string{tableMeterBand, tableMeter, tableAddressSet, tableACL, tablePortGroup}
}

// observe reads back every row that carries our owner, by UUID. With adopt it looks at all rows and takes those with a
// UUID that is wanted as well: only we derive it, so the row is ours and lost its mark.
func (b *Backend) observe(
	ctx context.Context, schema ovsdb.Schema, want map[string]*row, adopt bool,
) (map[string]*row, error) {
	have := map[string]*row{}
	where := ovsdb.WithExternalID(map[string]string{KeyOwner: b.names.owner})
	if adopt {
		where = nil
	}
	for _, table := range tables() {
		if !schema.Has(table) {
			continue
		}
		columns := []string{"_uuid"}
		for c := range columnsOf(table) {
			if schema.HasColumn(table, c) {
				columns = append(columns, c)
			}
		}
		slices.Sort(columns)
		rows, err := b.client.Select(ctx, table, where, columns...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		for _, native := range rows {
			r := decode(table, native)
			if ownerOf(r) == b.names.owner || adopt && want[r.uuid] != nil {
				have[r.uuid] = r
			}
		}
	}
	return have, nil
}

// ownerOf is whose mark a row carries, "" for nobody's.
func ownerOf(r *row) string {
	ids, _ := r.fields["external_ids"].(map[string]string)
	return ids[KeyOwner]
}

// decode reads a row as the database returns it.
func decode(table string, native libovsdb.Row) *row {
	r := &row{table: table, uuid: ovsdb.String(native["_uuid"]), fields: backends.Fields{}, sets: map[string][]string{}}
	for column, kind := range columnsOf(table) {
		value, ok := native[column]
		if !ok {
			continue
		}
		switch kind {
		case columnString, columnOptional:
			r.fields[column] = ovsdb.String(value)
		case columnInt:
			r.fields[column] = ovsdb.Int(value)
		case columnBool:
			r.fields[column] = ovsdb.Bool(value)
		case columnMap:
			r.fields[column] = ovsdb.StringMap(value)
		case columnSet:
			values := ovsdb.Strings(value)
			slices.Sort(values)
			r.sets[column] = values
		}
	}
	r.name = ovsdb.String(native["name"])
	if ids, ok := r.fields["external_ids"].(map[string]string); ok {
		r.origin = originText(table, r.fields, ids)
		if r.name == "" {
			r.name = ids[KeyID]
		}
	}
	return r
}

// originText spells the source that external_ids name, as the renderer does.
func originText(table string, fields backends.Fields, ids map[string]string) string {
	switch {
	case table != tableACL:
		return ids[KeyTitle]
	case ids[KeyKind] != "":
		o := intent.Origin{Cluster: ids[KeyCluster], Kind: ids[KeyKind], Namespace: ids[KeyNamespace], Name: ids[KeyName]}
		return o.String() + " " + ids[KeyRule]
	case fields["action"] == actionDrop:
		return originDeny + ids[KeyDirection]
	default:
		return originResolution + ids[KeyDirection]
	}
}

// encode spells columns as the database wants them.
func encode(table string, fields backends.Fields, sets map[string][]string) libovsdb.Row {
	kinds := columnsOf(table)
	native := libovsdb.Row{}
	for column, value := range fields {
		switch v := value.(type) {
		case map[string]string:
			native[column] = ovsdb.Map(v)
		case string:
			if v == "" && kinds[column] == columnOptional {
				native[column] = libovsdb.OvsSet{GoSet: []any{}}
				continue
			}
			native[column] = v
		default:
			native[column] = v
		}
	}
	for column, values := range sets {
		if refSet(column) {
			native[column] = ovsdb.UUIDs(values)
			continue
		}
		native[column] = ovsdb.Set(values)
	}
	return native
}
