package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// UnavailableOf lists the kinds that were unavailable when Write wrote a List. For any other text it is nil.
func UnavailableOf(manifests []byte) []string {
	var kinds []string
	if !headField(manifests, "unavailable", &kinds) {
		return nil
	}
	return kinds
}

// UnlistedOf lists the kinds that Extend added to a List as not listed. For any other text it is nil.
func UnlistedOf(manifests []byte) []source.Unlisted {
	var kinds []source.Unlisted
	if !headField(manifests, "unlisted", &kinds) {
		return nil
	}
	return kinds
}

// headField reads a field of a List that Write writes before its items.
func headField(manifests []byte, name string, into any) bool {
	d := json.NewDecoder(bytes.NewReader(manifests))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		switch {
		case err != nil || key == "items": // what Write writes last, and most
			return false
		case key == name:
			return d.Decode(into) == nil
		}
		var other json.RawMessage
		if d.Decode(&other) != nil {
			return false
		}
	}
	return false
}

// listHead is how a List begins that Write wrote.
const listHead = `{"apiVersion":"v1","kind":"List",`

// Extend adds to a List that Write wrote what no source delivers.
func Extend(list []byte, beyond *source.Undelivered) ([]byte, error) {
	rest, ok := bytes.CutPrefix(list, []byte(listHead))
	body, closed := bytes.CutSuffix(rest, []byte("]}"))
	if !ok || !closed {
		return nil, errors.New("extend a list of manifests: expected one that netloom wrote")
	}
	unlisted, err := json.Marshal(beyond.Unlisted)
	if err != nil {
		return nil, fmt.Errorf("extend a list of manifests: %w", err)
	}
	out := append([]byte(listHead+`"unlisted":`), unlisted...)
	out = append(append(out, ','), body...)
	for i, o := range beyond.Objects {
		if i > 0 || !bytes.HasSuffix(body, []byte("[")) {
			out = append(out, ',')
		}
		out = append(out, o...)
	}
	return append(out, "]}"...), nil
}
