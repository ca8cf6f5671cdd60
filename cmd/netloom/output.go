package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// answerVersion is the apiVersion of what commands print as JSON and YAML.
const answerVersion = "cli.netloom.io/v1alpha1"

// The forms of output. Every command with a table also prints JSON, YAML and fields of them.
const (
	formTable = "table"
	formWide  = "wide"
	formName  = "name"
	formJSON  = "json"
	formYAML  = "yaml"

	formMarkdown = "markdown"
	formSARIF    = "sarif"
	formCSV      = "csv"
	formHTML     = "html"
	formDOT      = "dot"
	formSVG      = "svg"

	jsonpathForm = "jsonpath="
)

// outputFlag is the output format of a command.
type outputFlag struct {
	form  string
	forms []string
	bare  bool // tables are printed without their heads
}

// bindTables adds the flags -o and --no-headers to a command whose tables have heads.
func bindTables(cmd *cobra.Command, forms ...string) *outputFlag {
	f := bindOutput(cmd, forms...)
	cmd.Flags().BoolVar(&f.bare, "no-headers", false, "print tables without their column names")
	return f
}

// bindOutput adds the flag -o to a command. The first format is the default. Commands that print JSON also print its fields, by
// jsonpath=TEMPLATE.
func bindOutput(cmd *cobra.Command, forms ...string) *outputFlag {
	f := &outputFlag{forms: forms}
	help := f.list()
	if slices.Contains(forms, formJSON) {
		help += ", or jsonpath=TEMPLATE"
	}
	cmd.Flags().StringVarP(&f.form, "output", "o", forms[0], "output format: "+help)
	complete(cmd, "output", forms...)
	return f
}

func (f *outputFlag) list() string {
	n := len(f.forms) - 1
	return strings.Join(f.forms[:n], ", ") + " or " + f.forms[n]
}

func (f *outputFlag) check() error {
	if template, ok := strings.CutPrefix(f.form, jsonpathForm); ok && slices.Contains(f.forms, formJSON) {
		if _, err := parsePath(template); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		return nil
	}
	if !slices.Contains(f.forms, f.form) {
		return fmt.Errorf("--output: %q: expected %s", f.form, f.list())
	}
	return nil
}

func parsePath(template string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("output").AllowMissingKeys(true)
	return p, p.Parse(template)
}

// printData prints an answer as JSON or YAML, with the same names, or some of its fields. The kind tells answers apart; a list becomes
// its items.
func printData(w io.Writer, form, kind string, answer any) error {
	text, err := document(kind, answer)
	if err != nil {
		return err
	}
	if template, ok := strings.CutPrefix(form, jsonpathForm); ok {
		return printPath(w, template, text)
	}
	if form == formYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}

// printNames prints objects, which are named like NetworkPolicy/shop/db, as arguments of explain and impact, each once.
func printNames(w io.Writer, objects []string) error {
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		if kind, rest, ok := strings.Cut(o, "/"); ok {
			names = append(names, strings.ToLower(kind)+"/"+rest+"\n")
		}
	}
	slices.Sort(names)
	_, err := io.WriteString(w, strings.Join(slices.Compact(names), ""))
	return err
}

// printJSON prints a report whose format is somebody else's.
func printJSON(w io.Writer, report any) error {
	text, err := plainJSON(report)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// document is an answer in JSON as an object with an apiVersion and a kind.
func document(kind string, answer any) ([]byte, error) {
	text, err := plainJSON(answer)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[0] != '{' {
		if text, err = plainJSON(struct {
			Items any `json:"items"`
		}{answer}); err != nil {
			return nil, err
		}
	}
	head, err := plainJSON(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}{answerVersion, kind})
	if err != nil {
		return nil, err
	}
	head, text = bytes.TrimSuffix(head, []byte("\n}\n")), bytes.TrimPrefix(text, []byte("{"))
	if !bytes.Equal(text, []byte("}\n")) {
		head = append(head, ',')
	}
	return append(head, text...), nil
}

// plainJSON is indented JSON in which "<", ">" and "&" are themselves: it is for people and scripts, not for HTML.
func plainJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}

// printPath prints the fields of a document that a template selects, as kubectl does.
func printPath(w io.Writer, template string, text []byte) error {
	p, err := parsePath(template)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	var data any
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	if err := p.Execute(w, data); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// palette colors words on a terminal; false leaves them as they are.
type palette bool

// paletteFor is true for a terminal, unless NO_COLOR is set (https://no-color.org).
func paletteFor(w io.Writer) palette { return palette(isTerminal(w) && os.Getenv("NO_COLOR") == "") }

func (i palette) paint(code, s string) string {
	if !i {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (i palette) good(s string) string { return i.paint("32", s) }
func (i palette) bad(s string) string  { return i.paint("31", s) }
func (i palette) odd(s string) string  { return i.paint("33", s) }
func (i palette) bold(s string) string { return i.paint("1", s) }
func (i palette) dim(s string) string  { return i.paint("2", s) }

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
