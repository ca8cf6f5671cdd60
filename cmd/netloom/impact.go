package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

func newImpact() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "impact -f DIR --with FILE",
		Short: "List the connections that a changed policy opens and closes",
		Long: `Compare which connections two states of the manifests allow, for every pair of pods and for addresses outside, on every
port. The first state is -f. In the second state, the objects of --with are replaced or added, and those of --without are
removed. Alternatively, set the two states with --from and --to. Pods that no policy distinguishes are listed together.

For a pull request, -o markdown prints a comment, and --fail-on sets which changes count: docs/ci.md has ready jobs.

Exit with 0 if no verdict changes, with 2 if some do, with 3 if there are no pods to compare or the manifests have problems, and
with 1 on an error.`,
		Example: `  netloom impact -f examples --without networkpolicy/shop/db
  netloom impact -f policies --with changed.yaml
  netloom impact --from main/policies --to branch/policies -o json
  netloom impact --from main/policies --to branch/policies -o markdown --fail-on opened`,
		Args: cobra.NoArgs,
	}
	states := bindStates(cmd)
	states.manifests.bindLive(cmd)
	states.manifests.bindClusters(cmd)
	states.manifests.firewalls = true
	refuseZone(cmd)
	output := bindOutput(cmd, formTable, formJSON, formYAML, formMarkdown)
	failOn := failOnAny
	cmd.Flags().StringVar(&failOn, "fail-on", failOnAny, "when to exit with 2: if connections are opened, closed or either (any), or never")
	complete(cmd, "fail-on", failOnOpened, failOnClosed, failOnAny, never)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := worst(output.check(), checkFailOn(failOn)); err != nil {
			return err
		}
		before, after, err := states.load(cmd)
		if err != nil {
			return err
		}
		printReading(cmd, &after)
		done := progress(cmd, "comparing")
		impact := impact.Of(before, after)
		done()
		out := cmd.OutOrStdout()
		switch output.form {
		case formTable:
			_, err = fmt.Fprint(out, impactText(&impact, paletteFor(out)))
		case formMarkdown:
			_, err = fmt.Fprint(out, impactMarkdown(&impact, doubtsOf(&before, &after)))
		default:
			err = printData(out, output.form, "Impact", impact)
		}
		return worst(err, certain(&before, &after), verdictOfImpact(&impact, failOn))
	}
	return cmd
}

// What --fail-on of impact accepts, besides never.
const (
	failOnOpened = "opened"
	failOnClosed = "closed"
	failOnAny    = "any"
)

func checkFailOn(failOn string) error {
	switch failOn {
	case failOnOpened, failOnClosed, failOnAny, never:
		return nil
	}
	return fmt.Errorf("--fail-on: %q: expected opened, closed, any or never", failOn)
}

// verdictOfImpact is the error for an impact: that nothing was compared, or that something changes which counts.
func verdictOfImpact(impact *impact.Report, failOn string) error {
	if impact.Pods == 0 {
		return cannotTell("no pods are in both states: nothing was compared")
	}
	for i := range impact.Changes {
		e := &impact.Changes[i]
		if failOn == failOnAny || failOn == failOnOpened && e.Opened != "" || failOn == failOnClosed && e.Closed != "" {
			return differs()
		}
	}
	return nil
}

// statesFlag is two states of the manifests.
type statesFlag struct {
	manifests     *manifestsFlag
	with, without []string
	from, to      string
}

func bindStates(cmd *cobra.Command) *statesFlag {
	f := &statesFlag{manifests: bindManifests(cmd)}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.with, "with", nil, "file or directory with objects to replace or add; may be repeated")
	flags.StringArrayVar(&f.without, "without", nil, "object to remove, such as networkpolicy/shop/db or deploy/shop/web; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("without", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return startingWith(typed, f.manifests.policyNames(cmd)), cobra.ShellCompDirectiveNoFileComp
	})
	flags.StringVar(&f.from, "from", "", "directory or file with the first state, instead of -f")
	flags.StringVar(&f.to, "to", "", "directory or file with the second state")
	return f
}

// edited reports whether the command line describes a second state.
func (f *statesFlag) edited() bool {
	return len(f.with)+len(f.without) > 0 || f.from != "" || f.to != ""
}

// load reads both states.
func (f *statesFlag) load(cmd *cobra.Command) (before, after world.State, err error) {
	edited := len(f.with)+len(f.without) > 0
	switch {
	case f.from != "" && f.to != "" && !f.manifests.fromFiles() && !edited:
		if before, err = f.manifests.at(f.from).load(cmd); err != nil {
			return before, after, err
		}
		after, err = f.manifests.at(f.to).load(cmd)
		return before, after, err
	case f.from != "" || f.to != "":
		return before, after, errors.New("--from and --to must be used together, and without -f, --with and --without")
	case !edited:
		return before, after, errors.New("expected a change: --with FILE, --without KIND/NAMESPACE/NAME, or --from and --to")
	}
	if before, err = f.manifests.load(cmd); err != nil {
		return before, after, err
	}
	after, err = f.manifests.edited(cmd, f.with, f.without)
	return before, after, err
}

// impactText formats an impact.
func impactText(impact *impact.Report, i palette) string {
	w := &answerWriter{palette: i}
	for n := range impact.Changes {
		e := &impact.Changes[n]
		head := groupText(&e.From) + " -> " + groupText(&e.To)
		if e.Family != "" && !e.Outward() {
			head += "  " + i.dim("("+e.Family+")")
		}
		if e.Opened != "" {
			w.line("%s %s: %s", i.good("+"), head, e.Opened)
		}
		if e.Closed != "" {
			w.line("%s %s: %s", i.bad("-"), head, e.Closed)
		}
	}
	switch {
	case impact.Pods == 0:
		w.line("%s", i.odd("no pods were compared"))
	case len(impact.Changes) == 0:
		w.line("no connection of %s changes", counted(impact.Pods, "pod"))
	}
	for _, list := range []struct {
		names []string
		what  string
	}{{impact.Appeared, "added"}, {impact.Vanished, "removed"}} {
		if len(list.names) > 0 {
			w.line("%s", i.dim("not compared ("+list.what+"): "+some(list.names, strings.Clone)))
		}
	}
	if len(impact.Undecided) > 0 {
		w.line("%s", i.odd(undecidedText(impact.Undecided)))
	}
	return w.String()
}

// undecidedText names the clusters whose policies an answer does not consider.
func undecidedText(clusters []string) string {
	return "not considered: the policies at pods of other clusters: " + some(clusters, strings.Clone)
}

func groupText(g *reach.Group) string {
	var parts []string
	if len(g.Pods) > 0 {
		parts = append(parts, some(g.Pods, strings.Clone))
	}
	if len(g.Outside) > 0 {
		parts = append(parts, "outside "+intent.PrefixText(g.Outside))
	}
	return strings.Join(parts, " and ")
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
