package nb

import (
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// How the ACLs that belong to no single policy are explained; the direction follows.
const (
	OriginDeny       = "default deny, "
	OriginResolution = "address resolution, "
	OriginHairpin    = "a pod's own service, "
	OriginShared     = "rules of several policies, "
	OriginStaged     = "connections that staged policies are about, "
)

// Decode decodes a row as the database returns it.
func Decode(table string, native libovsdb.Row) *Row {
	r := &Row{
		Table: table, UUID: ovsdb.String(native["_uuid"]), Fields: backends.Fields{},
		Sets: map[string][]string{}, Maps: map[string]map[string]string{},
	}
	for column, kind := range ColumnsOf(table) {
		value, ok := native[column]
		if !ok {
			continue
		}
		switch kind {
		case ColumnString, ColumnOptional:
			r.Fields[column] = ovsdb.String(value)
		case ColumnInt:
			r.Fields[column] = ovsdb.Int(value)
		case ColumnBool:
			r.Fields[column] = ovsdb.Bool(value)
		case ColumnMap:
			r.Fields[column] = ovsdb.StringMap(value)
		case ColumnSet:
			values := ovsdb.Strings(value)
			slices.Sort(values)
			r.Sets[column] = values
		case ColumnPairs:
			r.Maps[column] = ovsdb.StringMap(value)
		}
	}
	r.Name = ovsdb.String(native["name"])
	if ids := r.ExternalIDs(); ids != nil {
		r.Origin = originText(table, r.Fields, ids)
		if r.Name == "" {
			r.Name = ids[KeyID]
		}
	}
	return r
}

// originText renders the source that external_ids name, as the renderer does.
func originText(table string, fields backends.Fields, ids map[string]string) string {
	o := intent.Origin{Cluster: ids[KeyCluster], Kind: ids[KeyKind], Namespace: ids[KeyNamespace], Name: ids[KeyName]}
	switch {
	case table == TableLoadBalancer:
		return o.String()
	case table != TableACL || ids[KeyTitle] != "":
		return ids[KeyTitle]
	case ids[KeyKind] != "":
		return o.String() + " " + ids[KeyRule]
	case fields["action"] == ActionDrop:
		return OriginDeny + ids[KeyDirection]
	default:
		return OriginResolution + ids[KeyDirection]
	}
}

// encode encodes columns for the database.
func encode(table string, fields backends.Fields) libovsdb.Row {
	kinds := ColumnsOf(table)
	native := libovsdb.Row{}
	for column, value := range fields {
		switch v := value.(type) {
		case map[string]string:
			native[column] = ovsdb.Map(v)
		case []string:
			native[column] = ovsdb.Set(v)
			if RefersToRows(column) {
				native[column] = ovsdb.UUIDs(v)
			}
		case string:
			native[column] = v
			if v == "" && kinds[column] == ColumnOptional {
				native[column] = libovsdb.OvsSet{GoSet: []any{}}
			}
		default:
			native[column] = v
		}
	}
	return native
}
