package main

import (
	"strings"
	"unicode/utf8"
)

// table is rows of cells in columns.
type table struct {
	head []string
	bare bool // the head is not printed
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// text aligns the columns. The last one is not limited in width.
func (t *table) text(indent string, i palette) string {
	all := append([][]string{t.head}, t.rows...)
	if t.bare {
		all = t.rows
	}
	width := make([]int, len(t.head))
	for _, row := range all {
		for k, cell := range row {
			width[k] = max(width[k], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range all {
		var line strings.Builder
		for k, cell := range row {
			line.WriteString(cell)
			if k < len(row)-1 {
				line.WriteString(strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell)+2))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 && !t.bare {
			text = i.bold(text)
		}
		b.WriteString(indent + text + "\n")
	}
	return b.String()
}

// textOf aligns the tables that have rows, without their heads if bare is set.
func textOf(tables []*table, bare bool, i palette) []string {
	var parts []string
	for _, t := range tables {
		if len(t.rows) > 0 {
			t.bare = bare
			parts = append(parts, t.text("", i))
		}
	}
	return parts
}
