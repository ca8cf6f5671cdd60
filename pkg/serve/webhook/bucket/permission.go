package bucket

import (
	"encoding/json"
	"fmt"
)

// Annotation is the annotation for buckets of a Role or ClusterRole: a JSON object whose keys are resources, in the plural,
// and whose values are lists of buckets. Both may contain the wildcards * and ?.
const Annotation = "sdewan-bucket-type-permission"

// permissions are the buckets that a role grants, by resource; both are patterns.
type permissions map[string][]string

// Check returns what is wrong with an annotation; nil if it can be read or is absent.
func Check(annotations map[string]string) error {
	_, err := parsePermissions(annotations)
	return err
}

// parsePermissions reads the annotation of a role; nil without one.
func parsePermissions(annotations map[string]string) (permissions, error) {
	text, ok := annotations[Annotation]
	if !ok {
		return nil, nil
	}
	var p permissions
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("metadata.annotations[%s]: %w; expected resources with lists of buckets, such as "+
			`{"mwan3rules": ["app-intent"]}; it grants nothing`, Annotation, err)
	}
	return p, nil
}

// grants reports whether p allows objects of a bucket to be written.
func (p permissions) grants(resource, bucket string) bool {
	for pattern, buckets := range p {
		if match(pattern, resource) && matchAny(buckets, bucket) {
			return true
		}
	}
	return false
}
