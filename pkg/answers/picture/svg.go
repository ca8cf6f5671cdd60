package picture

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// svgHead is the style of a picture. The picture is one file: it loads and runs nothing.
const svgHead = `<style>
text { font: 12px sans-serif; fill: #1b1f24 }
.title { font-weight: bold }
.text { font-size: 10px; text-anchor: middle; paint-order: stroke; stroke: #fff; stroke-width: 3px }
.box { fill: #f6f8fa; stroke: #8c959f }
.node { fill: #fff; stroke: #57606a }
.group { stroke-dasharray: 4 3 }
.arc { fill: none; stroke-opacity: .6 }
.arc:hover { stroke-opacity: 1; stroke-width: 3 }
.join { fill: none; stroke: #8c959f; stroke-dasharray: 2 3 }
.closed { stroke-dasharray: 6 3 }
</style>
`

// svgHeads are the heads of the arrows of a kind.
const svgHeads = `<marker id="%s" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="%s"/></marker>`

// labeledArcs is up to how many arrows a picture shows their texts beside them, where there is room. Others are shown by pointing at an
// arrow.
const labeledArcs = 30

// WriteSVG writes a picture with boxes in columns, and links as arrows. Each arrow has a tooltip with its ends and its text.
func (p *Picture) WriteSVG(w io.Writer) error {
	g := p.drawn()
	at := g.layout()
	out := bufio.NewWriter(w)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) } // Flush returns the error
	line(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`, at.width, at.height)
	line("<title>%s</title>", markup(p.Title, 0))
	line("%s", svgHead)
	for _, k := range []Kind{Allowed, Opened, Closed} {
		line(svgHeads, k.class(), k.color())
	}
	line(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	for i := range g.boxes {
		b := at.boxes[i]
		line(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, b.x, b.y, b.width, b.height)
		line(`<text class="title" x="%d" y="%d">%s</text>`, b.x+boxPadding, b.y+titleHeight-4, markup(g.boxes[i].title, b.width-2*boxPadding))
	}
	for _, j := range g.joins {
		line(`<path class="join" d="%s"/>`, at.curve(j[0], j[1]))
	}
	for _, a := range g.arcs {
		title := g.nodes[a.from].title + " -> " + g.nodes[a.to].title + ": " + a.text
		line(`<path class="arc %s" stroke="%s" marker-end="url(#%[1]s)" d="%[3]s"><title>%[4]s</title></path>`,
			a.kind.class(), a.kind.color(), at.curve(a.from, a.to), markup(title, 0))
	}
	for n := range g.nodes {
		b, class := at.nodes[n], "node"
		if g.nodes[n].group {
			class += " group"
		}
		line(`<g><title>%s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="4"/><text x="%d" y="%d">%s</text></g>`,
			markup(g.nodes[n].title, 0), class, b.x, b.y, b.width, b.height, b.x+nodePadding, b.y+nodeHeight-8, markup(g.nodes[n].label, b.width-2*nodePadding))
	}
	if len(g.arcs) <= labeledArcs {
		for _, t := range at.labels(g.arcs) {
			line(`<text class="text" x="%d" y="%d">%s</text>`, t.x+t.width/2, t.y+labelHeight-3, markup(t.text, 0))
		}
	}
	line("</svg>")
	return out.Flush()
}

// shortened is a text that fits a width.
func shortened(text string, width int) string {
	runes := []rune(text)
	if most := max(1, width/charWidth); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// markup is a text as XML, shortened to a width unless that is 0.
func markup(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff { // no characters of XML
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if width > 0 {
		text = shortened(text, width)
	}
	return html.EscapeString(text)
}
