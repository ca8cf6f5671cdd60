package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/probe"
)

// checked is a file of expectations and its results.
type checked struct {
	File string `json:"file"`
	probe.Results
}

func newTest() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "test -f DIR EXPECTATIONS...",
		Short: "Test policies with a file of expectations",
		Long: `Check expectations, such as "the web tier reaches the API", against the policies of a directory of manifests, a daemon or a
cluster, and explain those that fail. docs/commands/test.md describes the file of expectations.

Exit with 0 if all are met, with 2 if one is not, and with 3 if one cannot be evaluated or the manifests have problems.`,
		Example: `  netloom test -f examples examples/expectations.yaml
  netloom test -f policies -o junit tests/*.yaml > report.xml`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.bindClusters(cmd)
	manifests.firewalls, manifests.networks, manifests.connections = true, true, true
	output := bindOutput(cmd, "table", "json", "yaml", "junit")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "omit expectations that are met from the table")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		files, err := readExpectations(args)
		if err := errors.Join(err, output.check()); err != nil {
			return err
		}
		inv, _, err := manifests.ask(cmd)
		if err != nil {
			return err
		}
		all := make([]checked, 0, len(files))
		failed, unknown, count := 0, 0, 0
		var doubts []string
		done := progress(cmd, "judging")
		for i, file := range files {
			results := probe.Check(inv, file)
			all = append(all, checked{args[i], results})
			failed, unknown, count = failed+results.Failed, unknown+unevaluated(&results), count+len(results.Results)
			for k := range results.Results {
				doubts = append(doubts, results.Results[k].Doubts...)
			}
		}
		done()
		if err := printChecked(cmd.OutOrStdout(), output.form, all, quiet); err != nil {
			return err
		}
		return worst(uncertain(doubts), verdictOfTests(failed, unknown, count))
	}
	return cmd
}

// verdictOfTests is the error for expectations of which some failed, and some of those because they cannot be evaluated.
func verdictOfTests(failed, unknown, count int) error {
	switch {
	case unknown > 0:
		return cannotTell("of %d expectations, %d cannot be evaluated and %d are not met", count, unknown, failed-unknown)
	case failed > 0:
		return &exitError{exitDiffers, fmt.Sprintf("%d of %d expectations are not met", failed, count)}
	}
	return nil
}

// unevaluated counts the expectations that cannot be evaluated.
func unevaluated(r *probe.Results) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Error != "" {
			n++
		}
	}
	return n
}

// readExpectations reads every file and reports all errors in them.
func readExpectations(paths []string) ([]*probe.Expectations, error) {
	if len(paths) == 0 {
		return nil, errors.New("expected a file of expectations; docs/commands/test.md describes its format")
	}
	var files []*probe.Expectations
	var faults []error
	for _, path := range paths {
		content, err := os.ReadFile(path) //nolint:gosec // the file that the user names is the one to read
		if err != nil {
			faults = append(faults, err)
			continue
		}
		file, err := probe.ParseExpectations(content)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				faults = append(faults, fmt.Errorf("%s: %s", path, line))
			}
		}
		files = append(files, file)
	}
	return files, errors.Join(faults...)
}

func printChecked(w io.Writer, form string, all []checked, quiet bool) error {
	switch form {
	case "table":
		_, err := fmt.Fprint(w, checkedText(all, quiet, paletteFor(w)))
		return err
	case "junit":
		return writeJUnit(w, suitesOf(all))
	default:
		return printData(w, form, "TestReport", struct {
			Files []checked `json:"files"`
		}{all})
	}
}

// checkedText formats results: a line for each expectation, and the answers that differ.
func checkedText(all []checked, quiet bool, i palette) string {
	w := &answerWriter{palette: i}
	passed, failed, connections := 0, 0, 0
	for n := range all {
		file := &all[n]
		passed, failed, connections = passed+file.Passed, failed+file.Failed, connections+file.Connections
		for k := range file.Results.Results {
			r := &file.Results.Results[k]
			if r.Passed && !quiet {
				w.line("%s  %s", i.good("pass"), r.Name)
			}
			if !r.Passed {
				w.failure(r)
			}
		}
	}
	total := fmt.Sprintf("%d passed, %d failed, %d connections checked", passed, failed, connections)
	if failed == 0 {
		total = i.good(total)
	} else {
		total = i.bad(total)
	}
	w.line("%s", total)
	return w.String()
}

// failure writes why an expectation is not met.
func (w *answerWriter) failure(r *probe.Result) {
	w.line("%s  %s", w.palette.bad("FAIL"), w.palette.bold(r.Name))
	if r.Error != "" {
		w.line("      cannot be evaluated: %s", r.Error)
		return
	}
	if r.Name != r.Text {
		w.line("      %s", r.Text)
	}
	w.line("      expected %s, but not in %d of %s:", r.Expect, r.Wrong, counted(r.Answers, "answer"))
	for i := range r.Failures {
		for line := range strings.Lines(verdictText(&r.Failures[i], w.palette)) {
			w.line("      %s", strings.TrimRight(line, "\n"))
		}
	}
	if more := r.Wrong - len(r.Failures); more > 0 {
		w.line("      … and %d more", more)
	}
}

// suitesOf converts the results of files of expectations: a suite for each file, a case for each expectation.
func suitesOf(all []checked) []junitSuite {
	suites := make([]junitSuite, len(all))
	for i := range all {
		suites[i].Name = all[i].File
		for n := range all[i].Results.Results {
			r := &all[i].Results.Results[n]
			c := &junitCase{Name: r.Name, Classname: all[i].File, File: all[i].File}
			switch {
			case r.Error != "":
				c.Failure = &junitFailure{Message: r.Error, Type: "error", Text: r.Text}
			case !r.Passed:
				var text strings.Builder
				text.WriteString("\n" + r.Text + "\n")
				for k := range r.Failures {
					text.WriteString(verdictText(&r.Failures[k], false))
				}
				message := fmt.Sprintf("expected %s, but not in %d of %s", r.Expect, r.Wrong, counted(r.Answers, "answer"))
				c.Failure = &junitFailure{Message: message, Type: "expectation", Text: text.String()}
			case len(r.Doubts) > 0:
				c.Failure = &junitFailure{Message: "cannot tell: " + strings.Join(r.Doubts, "; "), Type: "doubt", Text: r.Text}
			}
			suites[i].add(c)
		}
	}
	return suites
}
