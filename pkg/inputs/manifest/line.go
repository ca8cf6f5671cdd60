package manifest

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/netloom/netloom/pkg/object"
)

// lineWord finds the line that a parser's message names, counted from the start of the file.
var lineWord = regexp.MustCompile(`\bline (\d+)\b`)

// Lines finds the lines of many fields of one file: it splits the file once, and parses a document again only after a query for another
// one. It is not safe for concurrent use.
type Lines struct {
	documents []document
	number    int        // of the document that was parsed last
	root      *yaml.Node // its root; nil if it has no fields
}

// NewLines prepares the content of a file.
func NewLines(content []byte) *Lines { return &Lines{documents: splitDocuments(content)} }

// OfProblem returns the line, from 1, of a problem of the file: the one that its message names, or that of its field.
func (l *Lines) OfProblem(p *object.Problem) int {
	if m := lineWord.FindStringSubmatch(p.Message); m != nil && p.Field == "" {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return l.Of(p.Place.Document, p.Field)
}

// Of returns the line, from 1, of a field or of its nearest existing parent, or else the first line of the document. It is 0 if the
// file does not have that document.
func (l *Lines) Of(document int, field string) int {
	if document < 1 || document > len(l.documents) {
		return 0
	}
	d := &l.documents[document-1] // they are numbered from 1
	if l.number != document {
		var node yaml.Node
		l.number, l.root = document, nil
		if !d.json && yaml.Unmarshal(d.data, &node) == nil && len(node.Content) > 0 {
			l.root = node.Content[0]
		}
	}
	if l.root == nil {
		return d.line + 1
	}
	return d.line + lineOf(l.root, field)
}

// fieldStep is a key or an index of a field's path.
var fieldStep = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// lineOf follows a path such as spec.ingress[0].from as far as it leads.
func lineOf(node *yaml.Node, field string) int {
	line := node.Line
	for _, step := range fieldStep.FindAllString(field, -1) {
		step = strings.Trim(step, "[]")
		next, at := child(node, step)
		if next == nil {
			return line
		}
		node, line = next, at
	}
	return line
}

// child returns the value of a mapping under a key, or of a sequence at an index, and the line on which it begins.
func child(node *yaml.Node, step string) (*yaml.Node, int) {
	switch node.Kind { //nolint:exhaustive // the others have no children
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	case yaml.AliasNode:
		return child(node.Alias, step)
	}
	return nil, 0
}
