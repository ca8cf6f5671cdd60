package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/offline"
)

// lintOptions is the command line of lint.
type lintOptions struct {
	skip     []string
	failOn   string
	maxFlows int
	rules    bool
	strict   bool
}

func newLint() *cobra.Command {
	opts := &lintOptions{}
	cmd := &cobra.Command{
		Use:   "lint [-f] DIR|FILE|-",
		Short: "Find probable mistakes in policies",
		Long: `Find probable mistakes in NetworkPolicies and cluster-wide policies: selectors that match nothing, unknown port names, isolation
without DNS, policies and rules that others make redundant, pods that no policy isolates, and more; --rules lists them. Each
finding has its file and line, and a suggestion where a label is misspelled. -o wide also shows what to do about it, and -o
name prints only the objects with findings.

To accept a finding, write a comment on the line or above it, or above the first line for the whole object. A reason is required:

  # netloom:ignore RULE REASON

The annotation netloom.io/lint-ignore does the same for its object, with a line "RULE REASON" for each rule. An ignore that
matches no finding is itself a finding. Errors cannot be ignored.

With -n, only findings about that namespace and about no namespace are printed.

A note lists the files without Kubernetes objects, such as values of a chart or patches of a kustomization; with --strict they are errors.

Exit with 0 if there is no finding, with 2 if there is one of at least the severity of --fail-on, with 3 if there are no
pods to check against or the manifests have problems, and with 1 on an error.`,
		Example: `  netloom lint examples
  netloom lint -f examples -o sarif
  netloom lint -f examples --skip unisolated-egress --fail-on error
  netloom lint --rules`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.bindBackend(cmd)
	output := bindOutput(cmd, formTable, formWide, formName, formJSON, formYAML, formSARIF)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.skip, "skip", nil, "rule to skip; may be repeated")
	flags.StringVar(&opts.failOn, "fail-on", lint.Warning.String(), "minimum severity of findings to exit with 2: info, warning, error or never")
	flags.IntVar(&opts.maxFlows, "max-flows", 0, "report policies that cost a node more OpenFlow flows than this; 0 disables the check")
	flags.BoolVar(&opts.strict, "strict", false, "report files without Kubernetes objects, such as values of a chart, as errors")
	flags.BoolVar(&opts.rules, "rules", false, "list the rules")
	complete(cmd, "skip", lint.IDs()...)
	complete(cmd, "fail-on", lint.Info.String(), lint.Warning.String(), lint.Error.String(), never)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := worst(output.check(), opts.check()); err != nil {
			return err
		}
		if opts.rules {
			return printRules(cmd, output.form)
		}
		manifests.paths = append(manifests.paths, args...)
		return runLint(cmd, manifests, output.form, opts)
	}
	return cmd
}

func (o *lintOptions) check() error {
	for _, id := range o.skip {
		if !slices.Contains(lint.IDs(), id) {
			return fmt.Errorf("--skip: %q: unknown rule; --rules lists them", id)
		}
	}
	if o.failOn != never && new(lint.Severity).UnmarshalText([]byte(o.failOn)) != nil {
		return fmt.Errorf("--fail-on: %q: expected info, warning, error or never", o.failOn)
	}
	return nil
}

func runLint(cmd *cobra.Command, manifests *manifestsFlag, form string, o *lintOptions) error {
	source, err := manifests.source(cmd)
	if err != nil {
		return err
	}
	source.Strict = o.strict
	options := lint.Options{Skip: o.skip, Costs: lint.Costs{MaxFlows: o.maxFlows}}
	if o.maxFlows > 0 {
		if options.Costs.Explainer, err = builtin.NewExplainer(builtin.OVN, "lint", 0); err != nil {
			return err
		}
	}
	done := progress(cmd, "judging")
	report, state, err := offline.Lint(source, options)
	done()
	if err != nil {
		return err
	}
	if err := manifests.known(cmd, &state); err != nil {
		return err
	}
	if cmd.Flags().Changed("namespace") {
		report.Within(manifests.namespace, policiesIn(&state, manifests.namespace))
	}
	state.Problems = nil // they are findings, and are printed as such
	printReading(cmd, &state)
	out := cmd.OutOrStdout()
	switch form {
	case formTable, formWide:
		_, err = fmt.Fprint(out, lintText(&report, form == formWide, paletteFor(out)))
	case formName:
		var found []string
		for i := range report.Findings {
			if f := &report.Findings[i]; f.Ignored == "" {
				found = append(found, f.Ref.Path())
			}
		}
		err = printNames(out, found)
	case formSARIF:
		err = printJSON(out, sarifOfLint(report.Findings))
	default:
		err = printData(out, form, "LintReport", report)
	}
	return worst(err, certain(&state), o.verdict(&report))
}

// policiesIn counts the NetworkPolicies of a namespace.
func policiesIn(state *world.State, namespace string) int {
	count := 0
	for _, np := range state.Objects.Policies {
		if np.Namespace == namespace {
			count++
		}
	}
	return count
}

// verdict is the error for a report.
func (o *lintOptions) verdict(r *lint.Report) error {
	var from lint.Severity
	failing := o.failOn != never && from.UnmarshalText([]byte(o.failOn)) == nil
	errors, others := 0, 0
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Severity == lint.Error:
			errors++
		case failing && f.Ignored == "" && f.Severity >= from:
			others++
		}
	}
	switch {
	case errors > 0:
		return cannotTell("%s", counted(errors, "problem"))
	case r.Pods == 0:
		return cannotTell("no pods to check policies against")
	case len(r.NotExamined) > 0:
		return cannotTell("not everything was examined")
	case others > 0:
		return differs()
	}
	return nil
}

// lintText formats a report: a line for each finding, as compilers do.
func lintText(r *lint.Report, wide bool, i palette) string {
	w := &answerWriter{palette: i}
	remedies := map[string]string{}
	for _, rule := range lint.Rules() {
		remedies[rule.ID] = rule.Remedy
	}
	counts, ignored := [3]int{}, 0
	for n := range r.Findings {
		f := &r.Findings[n]
		if f.Ignored != "" {
			if ignored++; wide {
				w.line("%s", i.dim(findingText(f, "ignored", i)+": "+f.Ignored))
			}
			continue
		}
		counts[f.Severity]++
		severity := [3]func(string) string{i.dim, i.odd, i.bad}[f.Severity](f.Severity.String())
		w.line("%s", findingText(f, severity, i))
		if wide {
			w.line("    %s", i.dim(remedies[f.Rule]))
		}
	}
	for _, what := range r.NotExamined {
		w.line("%s: %s", i.odd("not examined"), what)
	}
	var parts []string
	for s := lint.Error; ; s-- {
		if n := counts[s]; n > 0 && s == lint.Info {
			parts = append(parts, fmt.Sprintf("%d info", n))
		} else if n > 0 {
			parts = append(parts, counted(n, s.String()))
		}
		if s == lint.Info {
			break
		}
	}
	if ignored > 0 {
		parts = append(parts, fmt.Sprintf("%d ignored", ignored))
	}
	found := strings.Join(parts, ", ")
	if found == "" {
		found = i.good("no finding")
	}
	w.line("%s; %d %s judged by %s", found, r.Policies, nounOf(r.Policies, "policy", "policies"), r.Judged())
	return w.String()
}

// findingText is "a.yaml:3: warning: NetworkPolicy/shop/web: spec: … [rule]".
func findingText(f *lint.Finding, severity string, i palette) string {
	var parts []string
	if place := f.Place.String(); place != "" {
		parts = append(parts, i.bold(place))
	}
	parts = append(parts, severity)
	if path := f.Ref.Path(); path != "/" {
		parts = append(parts, path)
	}
	return strings.Join(parts, ": ") + ": " + f.Text() + " " + i.dim("["+f.Rule+"]")
}

// nounOf is the form of a noun for a number.
func nounOf(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// printRules lists the rules.
func printRules(cmd *cobra.Command, form string) error {
	out := cmd.OutOrStdout()
	if form != formTable && form != formWide {
		return printData(out, form, "LintRules", lint.Rules())
	}
	w := &answerWriter{palette: paletteFor(out)}
	for n, r := range lint.Rules() {
		if n > 0 {
			w.line("")
		}
		w.line("%s (%s)", w.palette.bold(r.ID), r.Severity)
		w.line("  %s", r.Doc)
		w.line("  %s", w.palette.dim(r.Remedy))
	}
	_, err := fmt.Fprint(out, w.String())
	return err
}
