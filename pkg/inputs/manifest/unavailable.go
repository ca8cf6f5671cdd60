package manifest

import (
	"bytes"
	"encoding/json"
)

// unavailablePrefix is how a List written by Write begins if some kinds are missing from it.
const unavailablePrefix = `{"apiVersion":"v1","kind":"List","unavailable":`

// UnavailableOf lists the kinds that were unavailable when Write wrote a List. For any other text it is nil.
func UnavailableOf(manifests []byte) []string {
	rest, ok := bytes.CutPrefix(manifests, []byte(unavailablePrefix))
	if !ok {
		return nil
	}
	var kinds []string
	if err := json.NewDecoder(bytes.NewReader(rest)).Decode(&kinds); err != nil {
		return nil
	}
	return kinds
}
