package manifest

import (
	"bytes"
	"encoding/json"
)

// unavailablePrefix is how a List of Write begins that some kinds are missing from.
const unavailablePrefix = `{"apiVersion":"v1","kind":"List","unavailable":`

// UnavailableOf lists the kinds that were unavailable when Write wrote a List. Of any other text it is nil.
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
