package main

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/answers/connections"
)

// connectionsMarkdown formats connections as a table, and large groups as a list below it.
func connectionsMarkdown(r *connections.Report) string {
	var b strings.Builder
	lines, groups := r.Lines()
	b.WriteString("| from | to | ports |\n|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", textMarkdown(l.From), textMarkdown(l.To), textMarkdown(l.Ports))
	}
	if len(groups) > 0 {
		b.WriteString("\n")
		for _, g := range groups {
			fmt.Fprintf(&b, "- **%s**: %s\n", textMarkdown(g.Name), textMarkdown(g.Members))
		}
	}
	for _, note := range notesOn(r) {
		b.WriteString("\n> " + textMarkdown(note) + "\n")
	}
	return b.String()
}
