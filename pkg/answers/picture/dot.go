package picture

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteDOT writes a picture as a directed graph in the DOT language of Graphviz: ends as nodes, in a cluster for each box, and links as
// edges with their texts.
func (p *Picture) WriteDOT(w io.Writer) error {
	g := p.drawn()
	out := bufio.NewWriter(w)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) } // Flush returns the error
	line("digraph connections {")
	line("  rankdir=LR")
	line("  node [shape=box style=rounded fontname=%s]", quoted("sans-serif"))
	line("  edge [fontname=%s fontsize=10]", quoted("sans-serif"))
	for i := range g.boxes {
		line("  subgraph cluster_%d {", i+1)
		line("    label=%s", quoted(g.boxes[i].title))
		for _, n := range g.boxes[i].nodes {
			style := ""
			if g.nodes[n].group {
				style = " style=dashed"
			}
			line("    n%d [label=%s tooltip=%s%s]", n+1, quoted(g.nodes[n].label), quoted(g.nodes[n].title), style)
		}
		line("  }")
	}
	for _, j := range g.joins {
		line("  n%d -> n%d [dir=none style=dashed]", j[0]+1, j[1]+1)
	}
	for _, a := range g.arcs {
		color := ""
		if a.kind != Allowed {
			color = fmt.Sprintf(" color=%s class=%s", quoted(a.kind.color()), a.kind.class())
		}
		line("  n%d -> n%d [label=%s%s]", a.from+1, a.to+1, quoted(a.text), color)
	}
	line("}")
	return out.Flush()
}

// quoted is a string of the DOT language. Nothing in it is an escape sequence.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		case r == '&': // Graphviz reads entities
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
