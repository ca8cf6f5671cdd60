package cnf

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/netloom/netloom/test/script"
)

// objects reads the documents of a manifest.
func objects(manifest string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	var out []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if o.Object != nil {
			out = append(out, o)
		}
	}
}

// rest is how long everything has after each step to settle.
const rest = 6 * time.Second

// play runs a script in the bubble of the caller.
func play(t *testing.T, content string) {
	t.Helper()
	s, err := script.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCluster(t)
	defer c.Close()
	st := &stage{cluster: c, files: s.Files}
	for _, step := range s.Steps {
		if err := st.do(step); err != nil {
			t.Log(c.log.recent())
			t.Fatalf("line %d: %s: %v\n%s", step.Line, step.Text, err, s.Title)
		}
	}
}
