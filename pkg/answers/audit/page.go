package audit

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

// The page is written by hand, not with html/template: a template calls methods by name, so a program with one contains every exported
// method of every type in it, which made netloom a third larger.

// head is the page up to its first value. The policy lets the page load and run nothing.
const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Network policy audit</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1b1f24; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #d8dee4; vertical-align: top; overflow-wrap: anywhere }
th { background: #f6f8fa } td.n { text-align: right }
.open { color: #a40e26; font-weight: 600 }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } th { background: #161b22 } th, td { border-color: #30363d } .open { color: #ff7b72 } }
</style>
</head>
<body>
<h1>Network policy audit</h1>
`

// WriteHTML writes a report as a page that needs no other file. With changes, these come first; nil shows none.
func (r *Report) WriteHTML(w io.Writer, changes *Changes) error {
	p := page{bufio.NewWriter(w)}
	p.markup(head)
	for _, what := range r.NotExamined {
		p.markup(`<p class="open">Not examined: `, html.EscapeString(what), "</p>\n")
	}
	s := r.Summary
	p.markup(fmt.Sprintf("<p>%d %s in %d namespaces, %d policies. Isolated for ingress: %d, for egress: %d.\n"+
		"Open to the world: %d. Able to reach the world: %d.</p>\n",
		s.Pods, r.Noun(s.Pods), s.Namespaces, s.Policies, s.IsolatedIngress, s.IsolatedEgress, s.FromWorld, s.ToWorld))
	if changes != nil {
		p.changes(changes)
	}
	p.namespaces(r)
	p.matrix(r.Matrix)
	p.policies(r)
	p.pods(r)
	p.markup("</body>\n</html>\n")
	return p.Flush()
}

// page writes HTML. Errors show in Flush.
type page struct{ *bufio.Writer }

// markup writes parts as they are.
func (p page) markup(parts ...string) {
	for _, part := range parts {
		_, _ = p.WriteString(part) // Flush returns it
	}
}

// table starts a table with a title and headings. Rows follow, and end.
func (p page) table(title string, headings ...string) {
	p.markup("<h2>", html.EscapeString(title), "</h2>\n<table><tr>")
	for _, heading := range headings {
		p.markup("<th>", html.EscapeString(heading), "</th>")
	}
	p.markup("</tr>\n")
}

func (p page) end() { p.markup("</table>\n") }

// row writes cells, escaped.
func (p page) row(cells ...cell) {
	p.markup("<tr>")
	for _, c := range cells {
		p.markup("<td", c.class(), ">", html.EscapeString(c.text), "</td>")
	}
	p.markup("</tr>\n")
}

// cell is a value in a table.
type cell struct {
	text   string
	number bool // to the right
	open   bool // coloured
}

func text(value string) cell { return cell{text: value} }

func count(n int) cell { return cell{text: strconv.Itoa(n), number: true} }

// openIf colours the cell if something is not isolated.
func (c cell) openIf(open bool) cell {
	c.open = open
	return c
}

// class is the attribute for the style of the cell; "" for none.
func (c cell) class() string {
	var names []string
	if c.number {
		names = append(names, "n")
	}
	if c.open {
		names = append(names, "open")
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func (p page) changes(c *Changes) {
	p.table("Changes", "Kind", "Object", "Property", "Before", "After")
	for i := range c.Changes {
		x := &c.Changes[i]
		p.row(text(x.Kind), text(x.Object), text(x.What), text(x.Before), text(x.After))
	}
	for _, name := range c.Appeared {
		p.row(text("pod"), text(name), text("exists"), text("no"), text("yes"))
	}
	for _, name := range c.Vanished {
		p.row(text("pod"), text(name), text("exists"), text("yes"), text("no"))
	}
	p.end()
}

// heading is the word for what is counted, as a heading.
func (r *Report) heading() string {
	if r.StandsIn() {
		return "Workloads"
	}
	return "Pods"
}

func (p page) namespaces(r *Report) {
	p.table("Namespaces", "Namespace", r.heading(), "Isolated for ingress", "Isolated for egress", "Open to the world", "Reach the world")
	for i := range r.Namespaces {
		n := &r.Namespaces[i]
		p.row(text(n.Name), count(n.Pods), count(n.IsolatedIngress).openIf(n.IsolatedIngress < n.Pods),
			count(n.IsolatedEgress).openIf(n.IsolatedEgress < n.Pods), count(n.FromWorld).openIf(n.FromWorld > 0), count(n.ToWorld))
	}
	p.end()
}

func (p page) matrix(list []Cell) {
	p.table("Connections between namespaces", "From", "To", "Allowed pairs", "All pairs", "Traffic")
	for i := range list {
		c := &list[i]
		p.row(text(c.From), text(c.To), count(c.Allowed), count(c.Pairs), text(c.traffic()))
	}
	p.end()
}

func (p page) policies(r *Report) {
	p.table("Policies, oldest first", "Policy", "Created", "Directions", r.heading(), "Rules", r.heading()+" that only it isolates")
	for i := range r.Policies {
		x := &r.Policies[i]
		name := x.Name
		if x.Namespace != "" {
			name = x.Namespace + "/" + x.Name
		}
		p.row(text(x.Kind+" "+name), text(cmp.Or(x.Created, "unknown")), text(x.directions()), count(x.Pods), count(x.Rules), count(x.Sole))
	}
	p.end()
}

func (p page) pods(r *Report) {
	p.table(r.heading(), strings.TrimSuffix(r.heading(), "s"), "Isolated for ingress", "Isolated for egress", "Reached from outside", "Reaches outside")
	for i := range r.Pods {
		x := &r.Pods[i]
		p.row(text(x.Namespace+"/"+x.Name), text(yes(x.Ingress)).openIf(!x.Ingress), text(yes(x.Egress)).openIf(!x.Egress),
			text(x.FromWorld.text()), text(x.ToWorld.text()))
	}
	p.end()
}
