package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/object"
)

func newImpact() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "impact -f DIR --with FILE",
		Short: "List the connections that a changed policy opens and closes",
		Long: `Compare which connections two states of the manifests allow, for every pair of pods and for addresses outside, on every
port. The first state is -f. In the second state, the objects of --with are replaced or added, and those of --without are
removed. Alternatively, set the two states with --from and --to. Pods that no policy distinguishes are listed together.

-o dot is a graph of what is opened and closed for Graphviz, and -o svg a picture of it.

With -n, the list is about the pods of one namespace, and so is the exit code.

For a pull request, -o markdown prints a comment, and --fail-on sets which changes count: docs/ci.md has ready jobs.

Policies that are staged change nothing in either state. --staged compares the state of -f with the one in which its staged
policies are enforced, in place of those that they name.

--live lists the established connections that the change would cut or keep: those that the datapath of this machine tracks, if it is a
node with Open vSwitch, or those of a dump with --conntrack. A connection is known only on the nodes that it passes, so ask each node.

A pod that only the second state has is compared with its counterpart in the first: a pod with the same labels, or of the same
workload. If there is none, all its connections are new. For a changed policy that selects none of the pods, since an operator
creates them at run time, for example, the list says what the policy itself opens and closes.

Exit with 0 if no verdict changes, with 2 if some do, with 3 if there are no pods to compare or the manifests have problems, and
with 1 on an error.`,
		Example: `  netloom impact -f examples --without networkpolicy/shop/db
  netloom impact -f policies --with changed.yaml
  netloom impact -f policies --staged
  netloom impact -f examples -f docs/staged/staged.yaml --staged --live --conntrack docs/staged/conntrack.txt
  netloom impact --from main/policies --to branch/policies -o json
  netloom impact --from main/policies --to branch/policies -o markdown --fail-on opened`,
		Args: cobra.NoArgs,
	}
	states := bindStates(cmd)
	states.manifests.bindLive(cmd)
	states.manifests.bindClusters(cmd)
	states.manifests.firewalls, states.manifests.networks, states.manifests.connections = true, true, true
	refuseZone(cmd)
	output := bindOutput(cmd, formTable, formJSON, formYAML, formMarkdown, formDOT, formSVG)
	live := bindConntrack(cmd)
	staged := false
	cmd.Flags().BoolVar(&staged, "staged", false, "compare with the state in which the staged policies of -f are enforced, instead of --with")
	failOn := failOnAny
	cmd.Flags().StringVar(&failOn, "fail-on", failOnAny, "when to exit with 2: if connections are opened, closed or either (any), or never")
	complete(cmd, "fail-on", failOnOpened, failOnClosed, failOnAny, never)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := worst(output.check(), checkFailOn(failOn), live.check(output.form)); err != nil {
			return err
		}
		load := states.load
		if staged {
			load = states.promoted
		}
		before, after, err := load(cmd)
		if err != nil {
			return err
		}
		printReading(cmd, &after)
		if live.live {
			return worst(live.print(cmd, before, after, output.form), certain(&before, &after))
		}
		done := progress(cmd, "comparing")
		impact := impact.Of(before, after)
		done()
		if cmd.Flags().Changed("namespace") {
			impact.Within(states.manifests.namespace)
		}
		out := cmd.OutOrStdout()
		switch output.form {
		case formTable:
			_, err = fmt.Fprint(out, impactText(&impact, paletteFor(out)))
		case formMarkdown:
			_, err = fmt.Fprint(out, impactMarkdown(&impact, doubtsOf(&before, &after)))
		case formDOT:
			err = impact.Picture(&before, &after).WriteDOT(out)
		case formSVG:
			err = impact.Picture(&before, &after).WriteSVG(out)
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
	if !impact.Compared() {
		return cannotTell("no pods are in both states: nothing was compared")
	}
	for _, e := range impact.All() {
		if failOn == failOnAny || failOn == failOnOpened && e.Opened != "" || failOn == failOnClosed && e.Closed != "" {
			return differs()
		}
	}
	return nil
}

// impactText formats an impact.
func impactText(impact *impact.Report, i palette) string {
	w := &answerWriter{palette: i}
	w.effects(impact.Changes)
	switch {
	case !impact.Compared():
		w.line("%s", i.odd("no pods were compared"))
	case len(impact.Changes) == 0 && impact.Namespace != "":
		w.line("no connection of pods of namespace %s changes", impact.Namespace)
	case len(impact.Changes) == 0 && impact.Pods > 0:
		w.line("no connection of %s changes", counted(impact.Pods, "pod"))
	}
	for _, list := range []struct {
		names []string
		what  string
	}{{impact.Appeared, "added"}, {impact.Vanished, "removed"}} {
		if len(list.names) > 0 {
			w.line("%s: %s", list.what, oneSidedText(impact, list.names))
		}
	}
	w.effects(impact.Apart)
	if len(impact.Unselected) > 0 {
		w.line("policies that select none of the pods:")
		w.effects(impact.Unselected)
	}
	for _, line := range stagedLines(impact) {
		w.line("%s", line)
	}
	if len(impact.Undecided) > 0 {
		w.line("%s", i.odd(undecidedText(impact.Undecided)))
	}
	return w.String()
}

// stagedLines describe which policies are staged, a line for each of three lists.
func stagedLines(impact *impact.Report) []string {
	var out []string
	for _, list := range []struct {
		what string
		refs []object.Ref
	}{
		{"no longer staged: ", impact.Promoted}, {"staged from now on: ", impact.Demoted}, {"staged, so that they change nothing: ", impact.Staged},
	} {
		if len(list.refs) > 0 {
			out = append(out, list.what+some(list.refs, object.Ref.Path))
		}
	}
	return out
}

// oneSidedText names pods of one state, with those that they are compared with.
func oneSidedText(impact *impact.Report, pods []string) string {
	return some(pods, func(pod string) string {
		if other := impact.Counterparts[pod]; other != "" {
			return pod + " (compared with " + other + ")"
		}
		return pod
	})
}

// effects formats what is opened and closed.
func (w *answerWriter) effects(all []impact.Effect) {
	for n := range all {
		e := &all[n]
		head := groupText(&e.From) + " -> " + groupText(&e.To)
		if e.Family != "" && !e.Outward() {
			head += "  " + w.palette.dim("("+e.Family+")")
		}
		if e.Opened != "" {
			w.line("%s %s: %s", w.palette.good("+"), head, e.Opened)
		}
		if e.Closed != "" {
			w.line("%s %s: %s", w.palette.bad("-"), head, e.Closed)
		}
	}
}
