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
func impactMarkdown(report *impact.Report, doubts []string) string {
	sections := []struct {
		title   string
		effects []impact.Effect
	}{{"", report.Changes}, {" for added pods", report.Apart}, {" by policies that select none of the pods", report.Unselected}}
	var b strings.Builder
	b.WriteString("### Network policy impact\n\n")
	compared := counted(report.Pods, "pod") + " compared"
	if n := len(report.Appeared); n > 0 {
		compared += fmt.Sprintf(", %d added", n)
	}
	if n := len(report.Vanished); n > 0 {
		compared += fmt.Sprintf(", %d removed", n)
	}
	if report.Namespace != "" {
		compared += ", only changes of namespace " + report.Namespace + " listed"
	}
	opened, closed := rowsMarkdown(report.All())
	switch {
	case !report.Compared():
		b.WriteString("**Cannot tell**: no pods are in both states, so nothing was compared.\n")
	case len(opened)+len(closed) == 0:
		fmt.Fprintf(&b, "No connection changes (%s).\n", compared)
	default:
		fmt.Fprintf(&b, "**%d opened, %d closed** (%s).\n", len(opened), len(closed), compared)
	}
	if len(doubts) > 0 {
		b.WriteString("\n> **Incomplete:** " + cellMarkdown(strings.Join(doubts, "; ")) + "\n")
	}
	if len(report.Undecided) > 0 {
		b.WriteString("\n> " + cellMarkdown(undecidedText(report.Undecided)) + "\n")
	}
	for _, section := range sections {
		opened, closed := rowsMarkdown(section.effects)
		tableMarkdown(&b, "Opened"+section.title, opened)
		tableMarkdown(&b, "Closed"+section.title, closed)
	}
	for _, list := range []struct {
		names []string
		what  string
	}{{report.Appeared, "Added"}, {report.Vanished, "Removed"}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, "\n%s: %s\n", list.what, cellMarkdown(oneSidedText(report, list.names)))
		}
	}
	for _, line := range stagedLines(report) {
		fmt.Fprintf(&b, "\n%s\n", cellMarkdown(strings.ToUpper(line[:1])+line[1:]))
	}
	return b.String()
}

// rowsMarkdown formats effects as rows of a table: what is opened, and what is closed.
func rowsMarkdown(effects []impact.Effect) (opened, closed []string) {
	for n := range effects {
		e := &effects[n]
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
	return opened, closed
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

// cellMarkdown is textMarkdown of limited length.
func cellMarkdown(text string) string {
	if runes := []rune(text); len(runes) > maxMarkdownCell {
		text = string(runes[:maxMarkdownCell]) + "…"
	}
	return textMarkdown(text)
}

// textMarkdown is a text in which nothing is Markdown or HTML, on one line.
func textMarkdown(text string) string {
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
