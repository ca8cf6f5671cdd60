//go:build e2e

package ovn_test

// wait makes op wait for rows to be as expected: often rows of the database, or no rows at all.
func (g *generator) wait(op map[string]any, table string) {
	op["op"], op["where"], op["timeout"], op["until"] = "wait", g.where(table), 0, g.mostly("=", "==", "!=", "==")
	names := append(sorted(g.cells(table)), "_uuid")
	columns, rows := make([]string, 0, 3), make([]any, g.IntN(3))
	for range g.IntN(4) {
		columns = append(columns, names[g.IntN(len(names))])
	}
	if g.chance(3) {
		columns = append(columns, "nonsense")
	}
	for i := range rows {
		row := g.row(table, g.chance(50))
		if g.chance(50) {
			row["_uuid"] = g.uuid(table)
		}
		rows[i] = row
	}
	op["columns"], op["rows"] = columns, rows
}
