package manifest

import (
	"bytes"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Comment is a comment of a YAML document.
type Comment struct {
	Document int
	Line     int    // of the comment, from 1
	Text     string // after "#" and the word it begins with
	// First and Last are the lines that the comment applies to: those of the field or list item that begins on its line or, if it is alone
	// on its line, on the next one. Before the first field, it applies to the whole document.
	First, Last int
}

// Comments lists the comments of a file that begin with a word, in order. Text that only looks like a comment, such as in a multi-line
// value, does not count.
func Comments(content []byte, word string) []Comment {
	var out []Comment
	for _, d := range splitDocuments(content) {
		if !d.json && bytes.Contains(d.data, []byte(word)) {
			out = append(out, d.comments(word)...)
		}
	}
	return out
}

func (d *document) comments(word string) []Comment {
	var root yaml.Node
	if yaml.Unmarshal(d.data, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	x := extents{last: map[int]int{}, comments: map[string]bool{}}
	x.visit(&root)
	begin := root.Content[0].Line
	var out []Comment
	waiting := 0 // comments at the end of out whose line is not known yet: those that are alone on their line
	line := 0
	for text := range bytes.Lines(d.data) {
		line++
		before, rest, has := cutComment(string(text), word)
		if trimmed := bytes.TrimSpace(text); !has && (len(trimmed) == 0 || trimmed[0] == '#') {
			continue
		}
		alone := has && strings.TrimSpace(before) == ""
		if !alone {
			for i := len(out) - waiting; i < len(out); i++ {
				out[i].First, out[i].Last = d.line+line, d.line+max(line, x.last[line])
			}
			waiting = 0
		}
		if !has || !x.comments[strings.TrimSpace(strings.TrimPrefix(string(text), before))] {
			continue
		}
		c := Comment{Document: d.number, Line: d.line + line, Text: strings.TrimSpace(rest)}
		c.First, c.Last = c.Line, d.line+max(line, x.last[line])
		if alone && line < begin {
			c.First, c.Last = d.line+1, math.MaxInt
		} else if alone {
			waiting++
		}
		out = append(out, c)
	}
	return out
}

// cutComment splits a line at the comment that begins with a word.
func cutComment(line, word string) (before, rest string, found bool) {
	for at := 0; ; {
		i := strings.IndexByte(line[at:], '#')
		if i < 0 {
			return line, "", false
		}
		at += i
		text, is := strings.CutPrefix(strings.TrimLeft(line[at+1:], " \t"), word)
		if is && (text == "" || strings.ContainsAny(text[:1], " \t\r\n")) && (at == 0 || strings.ContainsAny(line[at-1:at], " \t")) {
			return line[:at], text, true
		}
		at++
	}
}

// extents finds out which lines the fields and items of a document take.
type extents struct {
	last     map[int]int     // by the line on which a field or an item begins: the last line on which a part of it begins
	comments map[string]bool // the lines of all comments, with their "#"
}

// visit returns the last line on which a part of a node begins.
func (x *extents) visit(n *yaml.Node) int {
	for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.Lines(text) {
			x.comments[strings.TrimSpace(line)] = true
		}
	}
	last := n.Line
	for i, child := range n.Content {
		end := x.visit(child)
		last = max(last, end)
		switch {
		case n.Kind == yaml.SequenceNode:
			x.begin(child.Line, end)
		case n.Kind == yaml.MappingNode && i%2 == 1:
			x.begin(n.Content[i-1].Line, end)
		}
	}
	return last
}

func (x *extents) begin(line, end int) { x.last[line] = max(x.last[line], end) }
