package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/question"
)

// The apiVersion and kind of a file of expectations. They distinguish it from manifests in the same directory.
const (
	ExpectationsVersion = "netloom.io/v1alpha1"
	ExpectationsKind    = "Expectations"
)

// Expectations is a file of expectations.
type Expectations struct {
	APIVersion string        `json:"apiVersion,omitempty"` // ExpectationsVersion, or "" with Kind
	Kind       string        `json:"kind,omitempty"`       // ExpectationsKind
	Namespace  string        `json:"namespace,omitempty"`  // default for pods and services
	List       []Expectation `json:"expectations"`
}

// Expectation is the expected verdict of connections: those from each source to each destination on each port.
type Expectation struct {
	Name    string  `json:"name,omitempty"` // "" uses Text as the title
	From    Words   `json:"from"`           // pods, patterns, nodes and addresses: see question.Parse
	To      Words   `json:"to"`             // the same, and services
	Ports   Words   `json:"ports,omitempty"`
	Expect  Verdict `json:"expect"` // allow, deny or refuse
	Node    string  `json:"node,omitempty"`
	Network string  `json:"network,omitempty"`
}

// Words is a list of words that may be written as a single one. Numbers are words too.
type Words []string

// UnmarshalJSON reads a word or a list of words.
func (w *Words) UnmarshalJSON(text []byte) error {
	var many []json.RawMessage
	if json.Unmarshal(text, &many) != nil {
		many = []json.RawMessage{text}
	}
	*w = nil
	for _, raw := range many {
		var word string
		if json.Unmarshal(raw, &word) != nil {
			var number json.Number
			if err := json.Unmarshal(raw, &number); err != nil {
				return fmt.Errorf("%s: expected a string or a list of strings", text)
			}
			word = number.String()
		}
		*w = append(*w, word)
	}
	return nil
}

// String formats w as a list.
func (w Words) String() string { return strings.Join(w, ", ") }

// Title is the expectation's name, or its text.
func (e *Expectation) Title() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text()
}

// Text formats e, such as "shop/web-0 -> shop/db-0 tcp/5432 deny".
func (e *Expectation) Text() string {
	parts := []string{e.From.String(), "->", e.To.String()}
	if len(e.Ports) > 0 {
		parts = append(parts, e.Ports.String())
	}
	return strings.Join(append(parts, string(e.Expect)), " ")
}

// ParseExpectations reads a file of expectations, in YAML or JSON, and reports all errors in it.
func ParseExpectations(content []byte) (*Expectations, error) {
	var file Expectations
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	faults, err := kjson.UnmarshalStrict(text, &file)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if (file.APIVersion != "" || file.Kind != "") &&
		(file.APIVersion != ExpectationsVersion || file.Kind != ExpectationsKind) {
		add("%s %s: expected apiVersion: %s and kind: %s, or neither",
			file.APIVersion, file.Kind, ExpectationsVersion, ExpectationsKind)
	}
	if len(file.List) == 0 {
		add("expectations: expected at least one")
	}
	for i := range file.List {
		for _, fault := range file.List[i].faults() {
			add("expectations[%d].%s", i, fault)
		}
	}
	return &file, errors.Join(faults...)
}

// faults lists the errors of e.
func (e *Expectation) faults() []string {
	var out []string
	for _, f := range []struct {
		name  string
		words Words
	}{{"from", e.From}, {"to", e.To}} {
		if len(f.words) == 0 || slices.Contains(f.words, "") {
			out = append(out, f.name+": expected a pod, a pattern, a node, a Service or an address")
		}
	}
	for _, p := range e.Ports {
		if _, err := name.ParsePort(p); err != nil {
			out = append(out, "ports: "+err.Error())
		}
	}
	if !slices.Contains([]Verdict{Allow, Deny, Refuse}, e.Expect) {
		out = append(out, fmt.Sprintf("expect: %q: expected allow, deny or refuse", e.Expect))
	}
	return out
}

// questions lists the questions of e.
func (e *Expectation) questions() []question.Question {
	ports := e.Ports
	if len(ports) == 0 {
		ports = Words{""}
	}
	var out []question.Question
	for _, from := range e.From {
		for _, to := range e.To {
			for _, p := range ports {
				out = append(out, question.Question{From: from, To: to, Port: p})
			}
		}
	}
	return out
}
