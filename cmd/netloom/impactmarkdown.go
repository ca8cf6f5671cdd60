package main

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/reach"
)

// The limits of an impact in Markdown: a comment on a forge takes 65,536 characters.
const (
	maxMarkdownRows = 100 // of a table
	maxMarkdown     = 60_000
	maxMarkdownCell = 2_000
)

// impactMarkdown formats an impact for a pull request. Doubts are why the answer is incomplete.
func impactMarkdown(impact *impact.Report, doubts []string) string {
	var opened, closed []string
	for n := range impact.Changes {
		e := &impact.Changes[n]
		row := func(traffic string) string {
			return fmt.Sprintf("| %s | %s | %s |\n", groupMarkdown(&e.From), groupMarkdown(&e.To), cellMarkdown(familyText(e)+traffic))
		}
		if e.Opened != "" {
			opened = append(opened, row(e.Opened))
		}
		if e.Closed != "" {
			closed = append(closed, row(e.Closed))
		}
	}
	var b strings.Builder
	b.WriteString("### Network policy impact\n\n")
	switch {
	case impact.Pods == 0:
		b.WriteString("**Cannot tell**: no pods are in both states, so nothing was compared.\n")
	case len(impact.Changes) == 0:
		fmt.Fprintf(&b, "No connection changes (%s compared).\n", counted(impact.Pods, "pod"))
	default:
		fmt.Fprintf(&b, "**%d opened, %d closed** (%s compared).\n", len(opened), len(closed), counted(impact.Pods, "pod"))
	}
	if len(doubts) > 0 {
		b.WriteString("\n> **Incomplete:** " + cellMarkdown(strings.Join(doubts, "; ")) + "\n")
	}
	if len(impact.Undecided) > 0 {
		b.WriteString("\n> " + cellMarkdown(undecidedText(impact.Undecided)) + "\n")
	}
	tableMarkdown(&b, "Opened", opened)
	tableMarkdown(&b, "Closed", closed)
	for _, list := range []struct {
		names []string
		what  string
	}{{impact.Appeared, "added"}, {impact.Vanished, "removed"}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, "\nNot compared, because %s: %s\n", list.what, cellMarkdown(some(list.names, strings.Clone)))
		}
	}
	return b.String()
}

// familyText names the family of a change that concerns one of two.
func familyText(e *impact.Effect) string {
	if e.Family == "" || e.Outward() {
		return ""
	}
	return e.Family + ": "
}

// tableMarkdown writes a table, as far as the limits go.
func tableMarkdown(b *strings.Builder, title string, rows []string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n#### %s\n\n| from | to | ports |\n|---|---|---|\n", title)
	for i, row := range rows {
		if i == maxMarkdownRows || b.Len()+len(row) > maxMarkdown {
			fmt.Fprintf(b, "\n… and %d more: `netloom impact` lists all.\n", len(rows)-i)
			return
		}
		b.WriteString(row)
	}
}

func groupMarkdown(g *reach.Group) string { return cellMarkdown(groupText(g)) }

// cellMarkdown is a text in which nothing is Markdown or HTML, on one line and of limited length.
func cellMarkdown(text string) string {
	if runes := []rune(text); len(runes) > maxMarkdownCell {
		text = string(runes[:maxMarkdownCell]) + "…"
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>()#+!|~&@", r):
			fmt.Fprintf(&b, "&#%d;", r) // a reference to the character is text in all dialects
		case r < ' ':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
