package bucket

import (
	"encoding/json"
	"fmt"
)

// Annotation is what a Role or ClusterRole says of buckets: a JSON object whose keys are resources, in the plural, and whose
// values are lists of buckets. Both may hold the wildcards * and ?.
const Annotation = "sdewan-bucket-type-permission"

// permissions are the buckets that a role grants, by resource; both are patterns.
type permissions map[string][]string

// Check says what is wrong with an annotation that is there; nil when it can be read.
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

// grants says whether p lets objects of a bucket be written.
func (p permissions) grants(resource, bucket string) bool {
	for pattern, buckets := range p {
		if match(pattern, resource) && matchAny(buckets, bucket) {
			return true
		}
	}
	return false
}
