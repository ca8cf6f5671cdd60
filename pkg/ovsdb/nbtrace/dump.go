package nbtrace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// ReadDump reads the rows that decide on packets from a file: what "ovsdb-client dump -f json" or "ovsdb-client backup" of
// OVN_Northbound writes, or one JSON object from the name of each table to its rows. Values are in the form of RFC 7047.
func ReadDump(r io.Reader) (Rows, error) {
	buffered := bufio.NewReader(r)
	var found dump
	var err error
	if head, _ := buffered.Peek(len(fileMagic)); string(head) == fileMagic {
		found, err = readBackup(buffered)
	} else {
		found, err = readTables(buffered)
	}
	if err != nil {
		return Rows{}, fmt.Errorf("read the dump: %w", err)
	}
	var rows Rows
	for _, t := range tables(&rows) {
		list, ok := found.tables[t.name]
		if !ok && !t.late && !found.sparse {
			return Rows{}, fmt.Errorf("read the dump: no table %s: expected a dump of OVN_Northbound", t.name)
		}
		for _, row := range list {
			if missing := t.missing(row); missing != "" && !found.sparse {
				return Rows{}, fmt.Errorf("read the dump: %s %v: no column %s", t.name, row["_uuid"], missing)
			}
			t.take(row)
		}
	}
	return rows, nil
}

// missing is a column without which a row says something else; "" if there is none. Others are not in every schema.
func (t *table) missing(row libovsdb.Row) string {
	for _, column := range t.columns {
		if _, ok := row[column]; !ok && !slices.Contains([]string{
			"tier", "options", "external_ids", "load_balancer_group", "dynamic_addresses",
		}, column) {
			return column
		}
	}
	if _, ok := row["_uuid"]; !ok {
		return "_uuid"
	}
	return ""
}

// dump is the rows of a file.
type dump struct {
	tables map[string][]libovsdb.Row
	sparse bool // columns and tables with nothing but defaults are left out
}

// readTables reads objects that are each a table of "ovsdb-client dump", or one with all tables.
func readTables(r io.Reader) (dump, error) {
	found := dump{tables: map[string][]libovsdb.Row{}}
	decoder := json.NewDecoder(r)
	for {
		var object map[string]json.RawMessage
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return dump{}, err
		}
		if object["headings"] != nil {
			if err := found.addTable(object); err != nil {
				return dump{}, err
			}
			continue
		}
		for name, raw := range object {
			var rows []map[string]any
			if err := json.Unmarshal(raw, &rows); err != nil {
				return dump{}, fmt.Errorf("table %s: %w", name, err)
			}
			for _, row := range rows {
				found.tables[name] = append(found.tables[name], ovsdb.RowFromWire(row))
			}
			if rows != nil && found.tables[name] == nil {
				found.tables[name] = []libovsdb.Row{}
			}
		}
	}
}

// addTable adds a table of "ovsdb-client dump".
func (d *dump) addTable(object map[string]json.RawMessage) error {
	var caption string
	var headings []string
	var data [][]any
	if err := errors.Join(
		json.Unmarshal(object["caption"], &caption), json.Unmarshal(object["headings"], &headings), json.Unmarshal(object["data"], &data),
	); err != nil {
		return fmt.Errorf("table %q: %w", caption, err)
	}
	name := strings.TrimSuffix(caption, " table")
	d.tables[name] = []libovsdb.Row{}
	for _, cells := range data {
		if len(cells) != len(headings) {
			return fmt.Errorf("table %s: a row of %d cells under %d headings", name, len(cells), len(headings))
		}
		row := map[string]any{}
		for i, heading := range headings {
			row[heading] = cells[i]
		}
		d.tables[name] = append(d.tables[name], ovsdb.RowFromWire(row))
	}
	return nil
}

// fileMagic begins the file of a standalone database, and each record in it.
const fileMagic = "OVSDB JSON "

// readBackup reads a backup: the schema, and one transaction that inserts every row. The file of a running database has more
// transactions.
func readBackup(r *bufio.Reader) (dump, error) {
	found := dump{tables: map[string][]libovsdb.Row{}, sparse: true}
	var records []json.RawMessage
	for {
		head, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && head == "" {
			break
		}
		if err != nil || !strings.HasPrefix(head, fileMagic) {
			return dump{}, errors.Join(errors.New("broken record"), err)
		}
		record, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return dump{}, err
		}
		records = append(records, bytes.TrimSpace(record))
	}
	if len(records) != 2 {
		return dump{}, fmt.Errorf("%d records: expected those of ovsdb-client backup, the schema and one with all rows", len(records))
	}
	var schema struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(records[0], &schema); err != nil {
		return dump{}, err
	}
	if schema.Name != ovsdb.DefaultDatabase {
		return dump{}, fmt.Errorf("a backup of %q: expected %s", schema.Name, ovsdb.DefaultDatabase)
	}
	var tables map[string]json.RawMessage
	if err := json.Unmarshal(records[1], &tables); err != nil {
		return dump{}, err
	}
	for name, raw := range tables {
		if strings.HasPrefix(name, "_") {
			continue // about the transaction
		}
		var rows map[string]map[string]any
		if err := json.Unmarshal(raw, &rows); err != nil {
			return dump{}, fmt.Errorf("table %s: %w", name, err)
		}
		for uuid, row := range rows {
			if row == nil {
				return dump{}, fmt.Errorf("table %s: row %s is deleted: expected the file of ovsdb-client backup", name, uuid)
			}
			out := ovsdb.RowFromWire(row)
			out["_uuid"] = libovsdb.UUID{GoUUID: uuid}
			found.tables[name] = append(found.tables[name], out)
		}
	}
	return found, nil
}
