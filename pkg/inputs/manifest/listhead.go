package manifest

import (
	"bytes"
	"encoding/json"

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

// UnlistedOf lists the kinds that could not be listed when Write wrote a List; false if they were not looked for, and for any other text.
func UnlistedOf(manifests []byte) (kinds []source.Unlisted, looked bool) {
	looked = headField(manifests, "unlisted", &kinds)
	return kinds, looked
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
