package ovn

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// PortNames defines how the logical ports of an endpoint are found. Create it with ParsePortNames; the zero value finds none.
type PortNames struct {
	templates []template // of names; an endpoint may have a port for each
	key       string     // of external_ids; "" to go by name
	value     template   // of the value under key
	text      string     // what was parsed, with presets expanded
}

// The names that other OVN controllers give to the logical port of a pod.
const (
	namesOVNKubernetes = "{namespace}_{pod}"
	namesKubeOVN       = "{pod}.{namespace}"
	namesNodus         = "{namespace}_{pod}"
)

// DefaultPortNames is the preset used if nothing is configured.
const DefaultPortNames = "ovn-kubernetes"

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// ParsePortNames parses how logical ports are found:
//
//	ovn-kubernetes, kube-ovn, nodus      the names that these controllers use
//	{namespace}_{pod}[,…]                templates of names; {cluster} may be used as well
//	external-ids:KEY[=TEMPLATE]          by the value of a key in external_ids, {namespace}/{pod} unless given
func ParsePortNames(s string) (PortNames, error) {
	if spec, ok := strings.CutPrefix(s, "external-ids:"); ok {
		key, value, given := strings.Cut(spec, "=")
		if !given {
			value = "{namespace}/{pod}"
		}
		if key == "" {
			return PortNames{}, fmt.Errorf("port names %q: expected external-ids:KEY or external-ids:KEY=TEMPLATE", s)
		}
		t, err := parseTemplate(value)
		return PortNames{key: key, value: t, text: s}, err
	}
	var n PortNames
	var texts []string
	for part := range strings.SplitSeq(s, ",") {
		switch part = strings.TrimSpace(part); part {
		case "ovn-kubernetes":
			part = namesOVNKubernetes
		case "kube-ovn":
			part = namesKubeOVN
		case "nodus":
			part = namesNodus
		}
		t, err := parseTemplate(part)
		if err != nil {
			return PortNames{}, err
		}
		n.templates, texts = append(n.templates, t), append(texts, part)
	}
	n.text = strings.Join(texts, ",")
	return n, nil
}

// template is literal text with placeholders in between: text[0] field[0] text[1] field[1] … text[n].
type template struct {
	texts  []string
	fields []func(object.Key) string
}

func parseTemplate(s string) (template, error) {
	known := map[string]func(object.Key) string{
		"{namespace}": func(k object.Key) string { return k.Namespace },
		"{pod}":       func(k object.Key) string { return k.Name },
		"{cluster}":   func(k object.Key) string { return k.Cluster },
	}
	var t template
	rest := s
	for _, at := range placeholder.FindAllString(s, -1) {
		if known[at] == nil {
			return template{}, fmt.Errorf("port names %q: unknown %s, expected {namespace}, {pod} or {cluster}", s, at)
		}
		text, after, _ := strings.Cut(rest, at)
		t.texts = append(t.texts, text)
		t.fields = append(t.fields, known[at])
		rest = after
	}
	t.texts = append(t.texts, rest)
	if !strings.Contains(s, "{pod}") || !strings.Contains(s, "{namespace}") {
		// Without both, pods would share a port, and deleting one would remove it from the groups of the other.
		return template{}, fmt.Errorf("port names %q: expected ovn-kubernetes, kube-ovn, nodus, "+
			"a template with {namespace} and {pod}, or external-ids:KEY", s)
	}
	return t, nil
}

// fill puts k into the placeholders.
func (t template) fill(k object.Key) string {
	n := len(t.texts[len(t.fields)])
	for i, f := range t.fields {
		n += len(t.texts[i]) + len(f(k))
	}
	var b strings.Builder
	b.Grow(n)
	for i, f := range t.fields {
		b.WriteString(t.texts[i])
		b.WriteString(f(k))
	}
	b.WriteString(t.texts[len(t.fields)])
	return b.String()
}

// Names lists the names that k's logical ports have. It is empty if ports are found by external_ids.
func (n PortNames) Names(k object.Key) []string {
	names := make([]string, len(n.templates))
	for i, t := range n.templates {
		names[i] = t.fill(k)
	}
	return names
}

// String formats how ports are found, with presets expanded.
func (n PortNames) String() string { return n.text }

// IndexKey returns the external_ids key by which ports are found, "" if they are found by name.
func (n PortNames) IndexKey() string { return n.key }
