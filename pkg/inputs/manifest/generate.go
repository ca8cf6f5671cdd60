package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An object with a generateName has no name before a server gives it one. With Options.Workloads it gets one here as well, which has to be
// the same each time that the file is read.

// Of the names that a server generates: how long what comes before the random letters may be, their number, and which there are.
const (
	maxBase       = 58
	suffixLength  = 5
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
)

// unnamed is the metadata of an object that may have no name.
type unnamed struct {
	Name         string            `json:"name"`
	Namespace    string            `json:"namespace"`
	GenerateName string            `json:"generateName"`
	Labels       map[string]string `json:"labels"`
}

// generate makes the name of an object that has only a generateName; "" if it has a name, or neither. It depends on the labels and on how
// many of that kind come before in the file, so a new image keeps the name.
func (r *reading) generate(kind string, metadata json.RawMessage) string {
	var is unnamed
	if !r.opts.Workloads || len(metadata) == 0 || json.Unmarshal(metadata, &is) != nil || is.Name != "" || is.GenerateName == "" {
		return ""
	}
	same := fmt.Sprint(kind, " ", cmp.Or(is.Namespace, r.opts.Namespace, metav1.NamespaceDefault), " ", is.GenerateName, " ", is.Labels)
	sum := sha256.Sum256(fmt.Append(nil, same, " ", r.manifest.generated[same]))
	r.manifest.generated[same]++
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixLetters[int(sum[i])%len(suffixLetters)]
	}
	return is.GenerateName[:min(len(is.GenerateName), maxBase)] + string(suffix)
}

// withName is an object with another name.
func withName(raw json.RawMessage, name string) json.RawMessage {
	var fields, metadata map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["metadata"], &metadata) != nil {
		return raw
	}
	var err error
	if metadata["name"], err = json.Marshal(name); err != nil {
		return raw
	}
	if fields["metadata"], err = json.Marshal(metadata); err != nil {
		return raw
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}
