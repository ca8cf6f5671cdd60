package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
)

// probeOptions is the command line of probe.
type probeOptions struct {
	where    question.Where
	from, to string
	port     string
	expect   string
	rows     backends.Explainer
}

func newProbe() *cobra.Command {
	opts := &probeOptions{}
	cmd := &cobra.Command{
		Use:   "probe -f DIR 'SRC->DST:tcp/80'...",
		Short: "Show whether A can reach B, and why",
		Long: `Show whether the policies of a directory of manifests, a daemon or a cluster allow a connection: for each direction the
policy and rule that decide, and what would have to change for the opposite verdict. For a connection to a Service, every
endpoint that may be chosen is checked.

SRC and DST are pods or workloads (NAMESPACE/NAME), KIND/NAMESPACE/NAME with the kinds of kubectl such as deploy, ns/NAME,
node/NAME, addresses or, as DST, svc/NAMESPACE/NAME:PORT. The namespace is that of -n or of the current context, and after a
kind it may be left out if only one has the name. The name of a pod may be a pattern such as 'web-*' or a selector such as
'app=web', and NAMESPACE may be '*': every pair is checked. The port is tcp/80, udp/53, sctp/9999, icmp, or tcp/NAME for a
named port of the destination. Quote the probe because of the shell, or use --from, --to and --port.

-o wide also shows the rows of OVN that decide or, with --backend tungsten, the firewall rules of Tungsten Fabric, for use
with "explain row"; JSON and YAML always include them. -o name prints only the policies that decide.

The name of a cluster may come first, as in b/shop/db-0 and b/svc/shop/db:5432; names without it are those of the own cluster.
The policies of each end's cluster are evaluated. A daemon knows those of its own cluster only, --peer-manifests reads those of
others; the verdict is "unknown" where policies that were not read decide.

Exit with 0 if everything is allowed, with 2 if something is not, with 3 if a verdict is unknown or the manifests have problems,
and with 1 on an error. With --expect, exit with 0 if every verdict is the expected one.`,
		Example: `  netloom probe -f examples 'shop/web-0->shop/db-0:tcp/5432'
  netloom probe -f examples -n shop 'web-*->api-0:tcp/api' '203.0.113.7->web-0:80'
  netloom probe -f examples --from shop/web-0 --to shop/db-0 --port 5432 --expect deny
  netloom probe -f deploy/examples/clusters/a --cluster a --peer-manifests b=deploy/examples/clusters/b 'b/shop/checkout-0->a/shop/db-0:5432'`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.bindClusters(cmd)
	manifests.firewalls, manifests.networks, manifests.connections = true, true, true
	output := bindOutput(cmd, formTable, formWide, formName, formJSON, formYAML)
	explainer := bindExplainer(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.where.Node, "node", "", "node where connections from outside enter the network")
	flags.StringVar(&opts.where.Network, "network", "", "logical network of the connection (default: that of the Service, or the default network)")
	flags.StringVar(&opts.from, "from", "", "source, instead of SRC")
	flags.StringVar(&opts.to, "to", "", "destination, instead of DST")
	flags.StringVar(&opts.port, "port", "", "port, instead of the one in DST")
	flags.StringVar(&opts.expect, "expect", "", "exit with 0 if every verdict is this one: allow, deny or refuse")
	complete(cmd, "expect", string(probe.Allow), string(probe.Deny), string(probe.Refuse))
	completeObjects(cmd, manifests, "from", name.Pod)
	completeObjects(cmd, manifests, "to", name.Pod, name.Service, name.Node)
	completeObjects(cmd, manifests, "node", name.Node)
	cmd.ValidArgsFunction = completeConnection(manifests)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		questions, err := opts.questions(args)
		rows, unknown := explainer()
		if err := errors.Join(err, output.check(), unknown); err != nil {
			return err
		}
		opts.rows = rows
		inv, _, err := manifests.ask(cmd)
		if err != nil {
			return err
		}
		opts.where.Namespace = manifests.scope()
		return runProbe(cmd, inv, questions, opts, output.form)
	}
	return cmd
}

// completeObjects adds shell completion of the names of objects in the manifests. Those of the first kind have no prefix.
func completeObjects(cmd *cobra.Command, manifests *manifestsFlag, flag string, kinds ...name.Kind) {
	// It fails only for a flag that does not exist, or that has completions already.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			names := startingWith(typed, manifests.names(cmd, kinds[0], kinds...))
			return names, cobra.ShellCompDirectiveNoFileComp
		})
}

// completeConnection completes each end of a connection such as shop/web-0->shop/db-0.
func completeConnection(manifests *manifestsFlag) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		kinds, head, end := []name.Kind{name.Pod}, "", typed
		if from, to, ok := strings.Cut(typed, "->"); ok {
			kinds, head, end = append(kinds, name.Service, name.Node), from+"->", to
		}
		names := startingWith(end, append(manifests.names(cmd, kinds[0], kinds...), manifests.workloadNames(cmd, end)...))
		for i := range names {
			names[i] = head + names[i]
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// questions reads the questions, and reports all errors in them.
func (o *probeOptions) questions(args []string) ([]question.Question, error) {
	var faults []error
	var out []question.Question
	for _, text := range args {
		q, err := question.Parse(text)
		out, faults = append(out, q), append(faults, err)
	}
	switch {
	case o.from != "" && o.to != "":
		q, err := question.Parse(o.from + "->" + o.to)
		if err == nil && o.port != "" {
			q.Port = o.port
		}
		out, faults = append(out, q), append(faults, err)
	case o.from != "" || o.to != "" || o.port != "":
		faults = append(faults, errors.New("--from, --to and --port must be used together"))
	case len(args) == 0:
		faults = append(faults, errors.New("expected a connection, such as 'shop/web-0->shop/db-0:tcp/5432'"))
	}
	switch probe.Verdict(o.expect) {
	case "", probe.Allow, probe.Deny, probe.Refuse:
	case probe.Mixed, probe.VerdictUnknown:
		fallthrough
	default:
		faults = append(faults, fmt.Errorf("--expect: %q: expected allow, deny or refuse", o.expect))
	}
	return out, errors.Join(faults...)
}

func runProbe(cmd *cobra.Command, inv *world.World, questions []question.Question, o *probeOptions, form string) error {
	var report struct {
		Answers []probe.Answer `json:"answers"`
	}
	var rows probe.RowNamer
	if form != formTable && form != formName {
		rows = rowNamer(o.rows, inv)
	}
	var faults []error
	var lacking []string // questions about connections for which only rules are missing
	for _, q := range questions {
		answers, err := probe.WithRows(inv, q, o.where, rows)
		if slices.ContainsFunc(answers, func(a probe.Answer) bool { return a.Lacks() }) {
			lacking = append(lacking, asTyped(q))
		}
		report.Answers, faults = append(report.Answers, answers...), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	want := probe.Allow
	if o.expect != "" {
		want = probe.Verdict(o.expect)
	}
	others, unknown := 0, 0
	var doubts []string
	for i := range report.Answers {
		doubts = append(doubts, report.Answers[i].Doubts...)
		if v := report.Answers[i].Verdict; v == probe.VerdictUnknown {
			unknown++
		} else if v != want {
			others++
		}
	}
	out := cmd.OutOrStdout()
	var err error
	switch form {
	case formTable, formWide:
		_, err = fmt.Fprint(out, answersText(report.Answers, paletteFor(out))+o.remedy(cmd, lacking))
	case formName:
		err = printNames(out, decidingPolicies(report.Answers))
	default:
		err = printData(out, form, "Probe", report)
	}
	if err != nil {
		return err
	}
	if err := uncertain(doubts); err != nil {
		return err
	}
	switch {
	case unknown > 0:
		return cannotTell("%d of %d verdicts depend on policies of clusters that were not read", unknown, len(report.Answers))
	case others == 0:
		return nil
	case o.expect == "":
		return differs()
	default:
		return &exitError{exitDiffers, fmt.Sprintf("%d of %d verdicts are not %s", others, len(report.Answers), o.expect)}
	}
}

// decidingPolicies lists the policies that allow or deny what answers are about.
func decidingPolicies(answers []probe.Answer) []string {
	var out []string
	for i := range answers {
		for _, s := range answers[i].Sides() {
			rules := s.AllowedBy
			if len(rules) == 0 {
				rules = s.DeniedBy
			}
			for _, r := range rules {
				out = append(out, r.Policy)
			}
			if len(rules) == 0 {
				out = append(out, s.IsolatedBy...)
			}
		}
	}
	return out
}

// answersText formats answers.
func answersText(answers []probe.Answer, i palette) string {
	var b strings.Builder
	for n, a := range grouped(answers) {
		if n > 0 {
			b.WriteString("\n")
		}
		b.WriteString(answerText(&a, i))
	}
	return b.String()
}
