package edge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// script is a file taken apart.
type script struct {
	title string
	steps []step
	files map[string]string // manifests by name
}

// step is one line that does or expects something.
type step struct {
	line  int
	text  string
	words []string
}

// parse takes a script apart. It does not look into the steps.
func parse(content string) (*script, error) {
	s := &script{files: map[string]string{}}
	file := ""
	for i, line := range strings.Split(content, "\n") {
		if name, ok := sectionName(line); ok {
			file = name
			if s.files[file] != "" {
				return nil, fmt.Errorf("line %d: there are two files %q", i+1, name)
			}
			continue
		}
		if file != "" {
			s.files[file] += line + "\n"
			continue
		}
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "#"):
			if s.title == "" {
				s.title = strings.TrimSpace(strings.TrimPrefix(text, "#"))
			}
		case text != "":
			s.steps = append(s.steps, step{line: i + 1, text: text, words: strings.Fields(text)})
		}
	}
	if s.title == "" {
		return nil, errors.New("the first line has to say what the script shows, after a #")
	}
	return s, nil
}

func sectionName(line string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	return name, ok && name != ""
}

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

// rest is how long everything has after each step to come to rest.
const rest = 2 * time.Second

// play runs a script in the bubble of the caller.
func play(t *testing.T, content string) {
	t.Helper()
	s, err := parse(content)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCluster(t)
	defer c.Close()
	st := &stage{cluster: c, files: s.files}
	for _, step := range s.steps {
		if err := st.do(step); err != nil {
			t.Log(c.log.recent())
			t.Fatalf("line %d: %s: %v\n%s", step.line, step.text, err, s.title)
		}
	}
}
