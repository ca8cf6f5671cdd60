package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
)

// connectionsOptions is the command line of connections.
type connectionsOptions struct {
	from, to []string
	port     string
	policed  bool
	labels   *selectorFlag
}

func newConnections() *cobra.Command {
	opts := &connectionsOptions{}
	cmd := &cobra.Command{
		Use:   "connections [-f] DIR|FILE|-",
		Short: "List the connections that are allowed, as text or as a picture",
		Long: `List all connections that the policies of a directory of manifests, a daemon or a cluster allow: between workloads, and between
workloads and addresses outside, with their ports. Everything else is denied. All pods of a workload are one end of connections,
unless policies distinguish them. Ends that allow the same are listed together, and numbered groups of many ends once, below the list.

--from and --to list the connections of some ends, named as for "netloom probe"; a Service stands for the pods behind it. Without them,
-n lists the connections of the pods of a namespace, and -l those of the pods with some labels, there or everywhere. --port lists what is allowed on one port. --policed leaves out what no policy decides: pairs of which no policy selects the source for egress or
the destination for ingress.

-o csv, json and yaml have each workload in one group, and the connections from group to group. -o dot is a graph for Graphviz,
-o svg a picture, and -o markdown a table.

Exit with 0 after a list, with 3 if there are no pods or the manifests have problems, and with 1 on an error.`,
		Example: `  netloom connections examples
  netloom connections -f examples --to shop/db-0 --port 5432
  netloom connections -f examples --policed -o svg > connections.svg
  netloom connections --kubeconfig ~/.kube/config --from ns/shop -o dot > shop.dot`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.firewalls, manifests.networks, manifests.connections = true, true, true
	output := bindOutput(cmd, formTable, formJSON, formYAML, formCSV, formMarkdown, formDOT, formSVG)
	opts.labels = bindSelector(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.from, "from", nil, "list only connections from this pod, workload, namespace or address; may be repeated")
	flags.StringArrayVar(&opts.to, "to", nil, "list only connections to this pod, workload, namespace, Service or address; may be repeated")
	flags.StringVar(&opts.port, "port", "", "list only what is allowed on this port, such as tcp/80 or icmp")
	flags.BoolVar(&opts.policed, "policed", false, "leave out what no policy decides")
	completeObjects(cmd, manifests, "from", name.Pod)
	completeObjects(cmd, manifests, "to", name.Pod, name.Service, name.Node)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		port, err := portFilter(opts.port)
		if err := errors.Join(err, output.check(), opts.labels.check()); err != nil {
			return err
		}
		manifests.paths = append(manifests.paths, args...)
		inv, state, err := manifests.ask(cmd)
		if err != nil {
			return err
		}
		return opts.run(cmd, inv, &state, manifests.scope(), port, output.form)
	}
	return cmd
}

// portFilter reads --port; the zero value means all.
func portFilter(text string) (name.Port, error) {
	if text == "" {
		return name.Port{}, nil
	}
	port, err := name.ParsePort(text)
	switch {
	case err != nil:
		return port, fmt.Errorf("--port: %w", err)
	case port.Name != "":
		return port, fmt.Errorf("--port: %q: expected a number: workloads may have different numbers for one name", text)
	}
	return port, nil
}

func (o *connectionsOptions) run(cmd *cobra.Command, inv *world.World, state *world.State, namespace string, port name.Port, form string) error {
	from, err := endsNamed(inv, "from", o.from, namespace)
	to, unknown := endsNamed(inv, "to", o.to, namespace)
	if err := errors.Join(err, unknown); err != nil {
		return err
	}
	var of []world.End
	if cmd.Flags().Changed("namespace") && len(o.from)+len(o.to) == 0 {
		if of, err = endsNamed(inv, "namespace", []string{"ns/" + namespace}, ""); err != nil {
			return err
		}
	}
	if o.labels.set() {
		if of, err = o.labels.among(inv, of); err != nil {
			return err
		}
	}
	filter := connections.Filter{From: from, To: to, Of: of, Policed: o.policed}
	if port != (name.Port{}) {
		filter.Port = connections.PortFilter(port)
	}
	done := progress(cmd, "listing")
	report := connections.Of(inv, filter)
	done()
	out := cmd.OutOrStdout()
	if err := printConnections(out, form, &report); err != nil {
		return err
	}
	for _, note := range notesOn(&report) {
		cmd.PrintErrln("note:", note)
	}
	return worst(connectionsVerdict(&report), doubtsOfConnections(inv, state, from, to))
}

// endsNamed finds the ends that a flag names; nil if it is not set.
func endsNamed(inv *world.World, flag string, texts []string, namespace string) ([]world.End, error) {
	var out []world.End
	var faults []error
	for _, text := range texts {
		ends, err := inv.Ends(text, namespace)
		if err == nil && flag == "from" && ends[0].Service != nil {
			err = fmt.Errorf("%s: a Service cannot be a source: use its pods", text)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
		out = append(out, ends...)
	}
	return out, errors.Join(faults...)
}

// connectionsVerdict is the error for a list that rests on nothing.
func connectionsVerdict(r *connections.Report) error {
	if r.Empty() {
		return cannotTell("no pods whose connections could be listed")
	}
	return nil
}

// doubtsOfConnections is the error for a list that is not certain: only what is unknown about the chosen ends counts, if both are chosen.
func doubtsOfConnections(inv *world.World, state *world.State, from, to []world.End) error {
	if len(from) == 0 || len(to) == 0 {
		return certain(state)
	}
	var doubts []string
	for _, list := range [][]world.End{from, to} {
		for i := range list {
			doubts = append(doubts, inv.DoubtsOn(&list[i])...)
		}
	}
	return uncertain(doubts)
}

func printConnections(out io.Writer, form string, r *connections.Report) error {
	var err error
	switch form {
	case formTable:
		_, err = io.WriteString(out, connectionsText(r, paletteFor(out)))
	case formMarkdown:
		_, err = io.WriteString(out, connectionsMarkdown(r))
	case formCSV:
		err = r.WriteCSV(out)
	case formDOT:
		err = r.WriteDOT(out)
	case formSVG:
		err = r.WriteSVG(out)
	default:
		err = printData(out, form, "Connections", r)
	}
	return err
}

// connectionsText formats connections as lines.
func connectionsText(r *connections.Report, i palette) string {
	w := &answerWriter{palette: i}
	lines, groups := r.Lines()
	for _, l := range lines {
		w.line("%s -> %s: %s", l.From, l.To, l.Ports)
	}
	if len(lines) == 0 && !r.Empty() {
		w.line("no connection is allowed")
	}
	if len(groups) > 0 {
		w.line("")
		for _, g := range groups {
			w.line("%s: %s", i.bold(g.Name), g.Members)
		}
	}
	return w.String()
}

// notesOn are what a list leaves out.
func notesOn(r *connections.Report) []string {
	var out []string
	if r.NodeAccess {
		out = append(out, "not listed: nodes reach the pods that run on them, whatever policies say")
	}
	if len(r.Unaddressed) > 0 {
		out = append(out, "not listed: pods without an address: "+some(r.Unaddressed, func(pod string) string { return pod }))
	}
	if len(r.Undecided) > 0 {
		out = append(out, undecidedText(r.Undecided))
	}
	return out
}
