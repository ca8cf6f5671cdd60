package watch

import (
	"bytes"
	"encoding/json"
)

// withheldBegins is how a List of Manifests begins that some kinds are missing from.
const withheldBegins = `{"apiVersion":"v1","kind":"List","withheld":`

// WithheldOf lists the kinds that Manifests could not read, by what it spelled. Of any other text it is nil.
func WithheldOf(manifests []byte) []Kind {
	rest, ok := bytes.CutPrefix(manifests, []byte(withheldBegins))
	if !ok {
		return nil
	}
	var kinds []Kind
	if err := json.NewDecoder(bytes.NewReader(rest)).Decode(&kinds); err != nil {
		return nil
	}
	return kinds
}
