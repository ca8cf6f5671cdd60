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
	columnPairs // a map whose pairs are written one by one
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
	case tableBalancer:
		return map[string]columnKind{
			"name": columnString, "protocol": columnOptional, "options": columnMap, "external_ids": columnMap,
			"vips": columnPairs, columnSelection: columnSet,
		}
	case tableBalancers:
		return map[string]columnKind{"name": columnString, columnBalancer: columnSet}
	case tableTemplateVars:
		return map[string]columnKind{"chassis": columnString, "external_ids": columnMap, columnVariables: columnPairs}
	case tableRouter:
		return map[string]columnKind{"name": columnString, columnBalancer: columnSet, columnBalancers: columnSet}
	case tableSwitch:
		return map[string]columnKind{
			"name": columnString, columnBalancer: columnSet, columnBalancers: columnSet, columnACLs: columnSet,
		}
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
func tables() []string { return append(policyTables(), balancingTables()...) }

// policyTables lists those for policies.
func policyTables() []string {
	return []string{tableMeterBand, tableMeter, tableAddressSet, tableACL, tablePortGroup}
}

// balancingTables lists those for load balancers.
func balancingTables() []string { return []string{tableTemplateVars, tableBalancer, tableBalancers} }

// observe reads back every row for policies that carries our owner, by UUID. With adopt it looks at all rows and takes those with a
// UUID that is wanted as well: only we derive it, so the row is ours and lost its mark.
func (b *Backend) observe(
	ctx context.Context, schema ovsdb.Schema, want map[string]*row, adopt bool,
) (map[string]*row, error) {
	have := map[string]*row{}
	where := ovsdb.WithExternalID(map[string]string{KeyOwner: b.names.owner})
	if adopt {
		where = nil
	}
	for _, table := range policyTables() {
		rows, err := b.read(ctx, schema, table, where)
		if err != nil {
			return nil, err
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

// read selects the columns of ours from a table; there are no rows where the schema has no such table.
func (b *Backend) read(
	ctx context.Context, schema ovsdb.Schema, table string, where []libovsdb.Condition,
) ([]libovsdb.Row, error) {
	if !schema.Has(table) {
		return nil, nil
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
	return rows, nil
}

// ownerOf is whose mark a row carries, "" for nobody's.
func ownerOf(r *row) string {
	ids, _ := r.fields["external_ids"].(map[string]string)
	return ids[KeyOwner]
}

// decode reads a row as the database returns it.
func decode(table string, native libovsdb.Row) *row {
	r := &row{
		table: table, uuid: ovsdb.String(native["_uuid"]), fields: backends.Fields{},
		sets: map[string][]string{}, maps: map[string]map[string]string{},
	}
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
		case columnPairs:
			r.maps[column] = ovsdb.StringMap(value)
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
	o := intent.Origin{Cluster: ids[KeyCluster], Kind: ids[KeyKind], Namespace: ids[KeyNamespace], Name: ids[KeyName]}
	switch {
	case table == tableBalancer:
		return o.String()
	case table != tableACL || ids[KeyTitle] != "":
		return ids[KeyTitle]
	case ids[KeyKind] != "":
		return o.String() + " " + ids[KeyRule]
	case fields["action"] == actionDrop:
		return originDeny + ids[KeyDirection]
	default:
		return originResolution + ids[KeyDirection]
	}
}

// encode spells columns as the database wants them.
func encode(table string, fields backends.Fields) libovsdb.Row {
	kinds := columnsOf(table)
	native := libovsdb.Row{}
	for column, value := range fields {
		switch v := value.(type) {
		case map[string]string:
			native[column] = ovsdb.Map(v)
		case []string:
			native[column] = ovsdb.Set(v)
			if refSet(column) {
				native[column] = ovsdb.UUIDs(v)
			}
		case string:
			native[column] = v
			if v == "" && kinds[column] == columnOptional {
				native[column] = libovsdb.OvsSet{GoSet: []any{}}
			}
		default:
			native[column] = v
		}
	}
	return native
}
