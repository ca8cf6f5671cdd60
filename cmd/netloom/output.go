package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// outputFlag is the output format of a command.
type outputFlag struct {
	form  string
	forms []string
}

// bindOutput adds the flag -o to a command. The first format is the default.
func bindOutput(cmd *cobra.Command, forms ...string) *outputFlag {
	f := &outputFlag{forms: forms}
	cmd.Flags().StringVarP(&f.form, "output", "o", forms[0], "output format: "+f.list())
	complete(cmd, "output", forms...)
	return f
}

func (f *outputFlag) list() string {
	n := len(f.forms) - 1
	return strings.Join(f.forms[:n], ", ") + " or " + f.forms[n]
}

func (f *outputFlag) check() error {
	if !slices.Contains(f.forms, f.form) {
		return fmt.Errorf("--output: %q: expected %s", f.form, f.list())
	}
	return nil
}

// printData prints an answer as JSON or YAML, with the same names.
func printData(w io.Writer, form string, answer any) error {
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if form == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
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
