package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"sigs.k8s.io/yaml"
)

// document is one of the YAML documents or JSON values that a file is made of.
type document struct {
	number int // from 1
	line   int // lines of the file before it
	data   []byte
	json   bool // data is a JSON value
}

// splitDocuments splits a file into documents. It never fails: what is not a document is detected when it is decoded.
func splitDocuments(content []byte) []document {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if start := bytes.TrimLeft(content, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		if docs, ok := splitJSON(content); ok {
			return docs
		}
	}
	return splitYAML(content)
}

// splitJSON splits a stream of JSON values; it returns false if content is not one.
func splitJSON(content []byte) ([]document, bool) {
	var docs []document
	d := json.NewDecoder(bytes.NewReader(content))
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil {
			return nil, false
		}
		docs = append(docs, document{number: len(docs) + 1, data: raw, json: true})
	}
}

// splitYAML splits a YAML stream at the lines that start with "---", and at those of "..." that end a document. Nothing but
// comments before the first "---" or after "..." is not a document; between two "---" it is an empty one.
func splitYAML(content []byte) []document {
	var docs []document
	start, startLine, line, loose := 0, 0, 0, true
	emit := func(end int) {
		if data := content[start:end]; !loose || !isBlank(data) {
			docs = append(docs, document{number: len(docs) + 1, line: startLine, data: data})
		}
	}
	for at := 0; at < len(content); line++ {
		next := len(content)
		if n := bytes.IndexByte(content[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		switch {
		case isMarker(content[at:next], "---"):
			emit(at)
			start, startLine, loose = at, line, false
		case isMarker(content[at:next], "..."):
			emit(at)
			start, startLine, loose = next, line+1, true
		}
		at = next
	}
	emit(len(content))
	return docs
}

// isMarker reports whether a line starts with a document marker. What follows "---" on its line, such as a comment, is left
// to the YAML parser, which sees the line as well.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isBlank reports whether data holds nothing but comments, directives and white space.
func isBlank(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// value converts a document to JSON; nil is an empty document. If keys given twice are the only fault, it returns a value
// with the error; if the document cannot be parsed, the error alone.
func (d *document) value() (json.RawMessage, error) {
	if d.json {
		return d.data, nil
	}
	raw, err := yaml.YAMLToJSONStrict(d.data)
	if err != nil {
		lenient, fatal := yaml.YAMLToJSON(d.data)
		if fatal != nil {
			return nil, d.inFile(fatal)
		}
		return lenient, d.inFile(err)
	}
	if string(raw) == "null" {
		return nil, nil
	}
	return raw, nil
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

// inFile makes the line numbers of a YAML error count from the start of the file.
func (d *document) inFile(err error) error {
	return errors.New(lineNumber.ReplaceAllStringFunc(err.Error(), func(s string) string {
		n, convErr := strconv.Atoi(s[len("line "):])
		if convErr != nil {
			return s
		}
		return fmt.Sprintf("line %d", n+d.line)
	}))
}
