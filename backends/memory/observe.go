package memory

// observe reads back every row of an owner.
func observe(t *Target, owner string) map[id]Row {
	rows := make(map[id]Row)
	for _, r := range t.Rows(owner) {
		rows[r.id()] = r
	}
	return rows
}

// references lists the sets that a row names.
func references(r Row) []string {
	var names []string
	for _, field := range []string{"subject", "narrowed", "set"} {
		if s := r.text(field); s != "" {
			names = append(names, s)
		}
	}
	return names
}

// named collects the sets that rows name.
func named(rows map[id]Row) map[string]bool {
	sets := make(map[string]bool)
	for _, r := range rows {
		for _, s := range references(r) {
			sets[s] = true
		}
	}
	return sets
}
