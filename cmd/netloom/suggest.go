package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/suggest"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// suggestOptions is the command line of suggest.
type suggestOptions struct {
	logs   []string
	last   time.Duration
	beyond bool
	staged bool // the policies are for what staged policies would deny, and are staged themselves
}

func newSuggest() *cobra.Command {
	opts := &suggestOptions{}
	cmd := &cobra.Command{
		Use:   "suggest -f DIR 'SRC->DST:tcp/80'...",
		Short: "Write the minimal NetworkPolicies that allow a connection",
		Long: `Write the NetworkPolicies that are missing for some connections, named as for "netloom probe", or for everything that an ACL
log says was denied. Each policy selects the pods in question, by labels that no other pod has where there are such labels, and
allows only the ports in question, only in the directions that deny them.

What the policies change is proved for all pairs of pods, all addresses outside and all ports. If they would open or close
anything else, because pods have the same labels, nothing is written unless --beyond is set.

With --from-staged, write what staged policies lack: the NetworkPolicies that allow the connections of --log that they would deny. The
policies that are written are staged too, so that applying them changes nothing; promote all of them together.

Exit with 0 if the policies were written or nothing is missing, with 2 if they would change more than asked or if no
NetworkPolicy can allow a connection, with 3 if the manifests have problems, and with 1 on an error.`,
		Example: `  netloom suggest -f examples 'shop/web-0->shop/db-0:tcp/5432'
  netloom suggest -f examples --log docs/commands/ovn-controller.log
  netloom suggest -f examples -f docs/staged/staged.yaml --from-staged --log docs/staged/ovn-controller.log
  netloom suggest --kubeconfig ~/.kube/config 'shop/web-*->shop/db-0:5432' | kubectl apply -f -`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.firewalls, manifests.networks, manifests.connections = true, true, true
	output := bindOutput(cmd, formYAML, formJSON)
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.logs, "log", nil, "log of ovn-controller, or - for standard input; may be repeated")
	flags.DurationVar(&opts.last, "last", time.Hour, "how far back from the newest line of the log")
	flags.BoolVar(&opts.staged, "from-staged", false, "write what staged policies lack for the connections of --log")
	flags.BoolVar(&opts.beyond, "beyond", false, "write the policies even if they open or close more than asked")
	cmd.ValidArgsFunction = completeConnection(manifests)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := output.check()
		if len(args)+len(opts.logs) == 0 {
			err = errors.Join(err, errors.New("expected a connection, such as 'shop/web-0->shop/db-0:tcp/5432', or --log"))
		}
		if opts.staged && (len(opts.logs) == 0 || len(args) > 0) {
			err = errors.Join(err, errors.New("--from-staged: expected --log, and no connections"))
		}
		if err != nil {
			return err
		}
		return opts.run(cmd, manifests, args, output.form)
	}
	return cmd
}

func (o *suggestOptions) run(cmd *cobra.Command, manifests *manifestsFlag, args []string, form string) error {
	inv, state, err := manifests.ask(cmd)
	if err != nil {
		return err
	}
	wanted, err := o.connections(cmd, inv, manifests.scope(), args)
	if err != nil {
		return err
	}
	before := state
	if o.staged {
		before = inv.WouldBe().State
	}
	s, err := suggest.For(before, wanted, func(policies []*networkingv1.NetworkPolicy) (world.State, error) {
		if o.staged {
			stage(policies)
		}
		after, err := withPolicies(cmd, manifests, policies)
		if err != nil || !o.staged {
			return after, err
		}
		return after.WouldBe(), nil
	})
	if err != nil {
		return err
	}
	if o.staged {
		stage(s.Policies)
	}
	return worst(o.print(cmd, s, form), certain(&state))
}

// connections lists those of the command line and those that were denied according to the logs.
func (o *suggestOptions) connections(cmd *cobra.Command, inv *world.World, namespace string, args []string) ([]question.Connection, error) {
	var out []question.Connection
	var faults []error
	for _, text := range args {
		q, err := question.Parse(text)
		if err == nil {
			var list []question.Connection
			list, err = question.Connections(inv, q, question.Where{Namespace: namespace})
			out = append(out, list...)
		}
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil || len(o.logs) == 0 {
		return out, err
	}
	w := newWatcher(inv, o.last)
	if err := w.readAll(cmd, o.logs, false); err != nil {
		return nil, err
	}
	if o.staged {
		return o.denied(cmd, inv, w.trial.Report())
	}
	report := w.Report(time.Time{})
	for i := range report.Flows {
		f := &report.Flows[i]
		if f.Verdict != flows.Denied {
			continue
		}
		list, err := question.Connections(inv, f.Question(), question.Where{})
		if err != nil {
			cmd.PrintErrln("note: not considered:", err)
		}
		out = append(out, list...)
	}
	if n := report.Other[flows.Denied]; n > 0 {
		cmd.PrintErrf("note: %d log lines were skipped: there are too many different connections\n", n)
	}
	return out, nil
}

// denied lists the connections that staged policies would deny.
func (o *suggestOptions) denied(cmd *cobra.Command, inv *world.World, tried []flows.Tried) ([]question.Connection, error) {
	would := inv.WouldBe()
	if would == nil {
		return nil, cannotTell("no policy is staged")
	}
	var out []question.Connection
	for i := range tried {
		for _, f := range tried[i].Flows {
			if f.Would != flows.Denied {
				continue
			}
			key := flows.Key{From: f.From, To: f.To, Port: f.Port}
			list, err := question.Connections(would, key.Question(), question.Where{})
			if err != nil {
				cmd.PrintErrln("note: not considered:", err)
			}
			out = append(out, list...)
		}
		if n := tried[i].Other; n > 0 {
			cmd.PrintErrf("note: %s: %d log lines were skipped: there are too many different connections\n", tried[i].Policy, n)
		}
	}
	return out, nil
}

// stage marks policies as staged.
func stage(policies []*networkingv1.NetworkPolicy) {
	for _, p := range policies {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, object.EnforcementAnnotation, object.EnforcementStaged)
	}
}

// withPolicies reads the manifests again, with further policies.
func withPolicies(cmd *cobra.Command, manifests *manifestsFlag, policies []*networkingv1.NetworkPolicy) (world.State, error) {
	dir, err := os.MkdirTemp("", "netloom-suggest-")
	if err != nil {
		return world.State{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it is a small file
	text, err := suggest.Manifest(policies)
	if err != nil {
		return world.State{}, err
	}
	path := filepath.Join(dir, "suggested.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return world.State{}, err
	}
	return manifests.edited(cmd, []string{path}, nil)
}

func (o *suggestOptions) print(cmd *cobra.Command, s *suggest.Suggestion, form string) error {
	for _, r := range s.Refused {
		cmd.PrintErrf("note: %s: %s\n", r.Connection, r.Reason)
	}
	for _, e := range s.Beyond {
		if e.Opened != "" {
			cmd.PrintErrf("note: also opens %s -> %s: %s\n", e.From, e.To, e.Opened)
		}
		if e.Closed != "" {
			cmd.PrintErrf("note: also closes %s -> %s: %s\n", e.From, e.To, e.Closed)
		}
	}
	if s.More > 0 {
		cmd.PrintErrf("note: and at least %d more\n", s.More)
	}
	refused := len(s.Beyond) > 0 && !o.beyond
	out := cmd.OutOrStdout()
	var err error
	switch {
	case form == formJSON:
		err = printData(out, form, "Suggestion", s)
	case len(s.Policies) == 0:
		cmd.PrintErrf("note: %s allowed already, nothing to write\n", counted(s.Already, "connection"))
	case !refused:
		var text string
		if text, err = suggest.Manifest(s.Policies); err == nil {
			_, err = fmt.Fprint(out, text)
		}
	}
	switch {
	case err != nil:
		return err
	case refused:
		return &exitError{exitDiffers, "labels cannot tell these pods apart: the policies would change more than asked; use --beyond to write them anyway"}
	case len(s.Refused) > 0:
		return differs()
	default:
		return nil
	}
}
