package manifest

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineWord finds the line that a parser's message names, counted from the start of the file.
var lineWord = regexp.MustCompile(`\bline (\d+)\b`)

// Line returns the line of a file, from 1, that a problem is about: the one its message names, the one of the field or of
// its nearest existing parent, or the first line of the document. It is 0 if the content does not have that document.
func Line(content []byte, document int, field, message string) int {
	if m := lineWord.FindStringSubmatch(message); m != nil && field == "" {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	for _, d := range splitDocuments(content) {
		if d.number != document {
			continue
		}
		var root yaml.Node
		if d.json || yaml.Unmarshal(d.data, &root) != nil || len(root.Content) == 0 {
			return d.line + 1
		}
		return d.line + lineOf(root.Content[0], field)
	}
	return 0
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
