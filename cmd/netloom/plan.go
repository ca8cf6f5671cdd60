package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
)

func newPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan --ovn-nb ADDR",
		Short: "Show what would be written, and its cost in the data plane",
		Long: `Show the operations that would sync a database with a directory of manifests, or with a cluster, and estimate the number of
OpenFlow flows on the nodes. Nothing is written. With --from and --to, or with -f and --with or --without, no database is
needed: the plan is the difference between two states of the manifests.

With --server, show the plans of a running daemon, for its database and for each SD-WAN device. The daemon reads the devices
one after the other. Plans for devices are only available with --server.

Exit with 0 if there is nothing to write, with 2 if there is, with 3 if the manifests have problems, and with 1 on an error.` + coverageHelp,
		Example: `  netloom plan -f ./policies --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom plan --kubeconfig ~/.kube/config --ovn-nb tcp:10.0.0.1:6641
  netloom plan -f examples --without networkpolicy/shop/db
  netloom plan --server 127.0.0.1:8080`,
		Args: cobra.NoArgs,
	}
	bindConfig(cmd)
	showSettings(cmd, "kubeconfig", "kube-context", "tungsten", "ovn-port-names", "owner", "cluster", "zone-node")
	states := bindStates(cmd)
	output := bindOutput(cmd, "table", "json", "yaml")
	strict := bindStrict(cmd)
	server := cmd.Flags().String("server", "", "show the plans of a running daemon at this address, including those for SD-WAN devices")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *server != "" {
			if err := errors.Join(output.check(), aloneWithServer(cmd)); err != nil {
				return err
			}
			return planOfServer(cmd, *server, output.form, strict)
		}
		if states.edited() && !cmd.Flags().Changed("ovn-nb") && !cmd.Flags().Changed("tungsten") {
			if err := cmd.Flags().Set("ovn-nb", ovn.Embedded); err != nil {
				return err
			}
		}
		cfg, err := loadConfig(cmd)
		if err := errors.Join(err, output.check()); err != nil {
			return err
		}
		report, err := makePlan(cmd, cfg, states)
		if err != nil {
			return err
		}
		err = report.print(cmd, output.form)
		return worst(strict.judge(cmd, report.Coverage), err)
	}
	return cmd
}

// aloneWithServer returns an error about flags that cannot be combined with --server.
func aloneWithServer(cmd *cobra.Command) error {
	for _, name := range []string{"filename", "with", "without", "from", "to", "ovn-nb", "tungsten", "kubeconfig", "manifests"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--server and --%s: expected only one of them", name)
		}
	}
	return nil
}

// planReport is the output of plan.
type planReport struct {
	Plan *backends.Plan `json:"plan"`
	// Cost is that of the wanted state, Before that of the first of two; nil unless the target is a database of OVN.
	Cost   *cost `json:"cost,omitempty"`
	Before *cost `json:"before,omitempty"`
	// Coverage is which of the selected pods the database has; nil without a database.
	Coverage *backends.Report `json:"coverage,omitempty"`
	doubt    error            // that the plan is incomplete; nil if it is not
}

// cost is the cost of a state's policies in a data plane.
type cost struct {
	ACLs  int            `json:"acls"`
	Flows map[string]int `json:"flows"` // OpenFlow flows by node, about
}

func makePlan(cmd *cobra.Command, cfg *configuration, states *statesFlag) (*planReport, error) {
	if states.edited() {
		return planBetween(cmd, cfg, states)
	}
	if err := checkTarget(cfg); err != nil {
		return nil, err
	}
	cfg, err := asRecorded(cmd, cfg, states.manifests)
	if err != nil {
		return nil, err
	}
	log := quietLog(cmd, cfg)
	opts := optionsOf(cfg)
	opts.Target.Log = log
	read, err := readOnce(cmd, cfg, states.manifests, opts, log)
	if err != nil {
		return nil, err
	}
	defer progress(cmd, "planning")()
	planned, err := offline.DryRun(cmd.Context(), opts.Target, read.Snapshot)
	if err != nil {
		return nil, err
	}
	c, err := costIn(cfg, read.Snapshot)
	return &planReport{Plan: planned.Plan, Cost: c, Coverage: planned.Coverage, doubt: doubtOf(read.Problems)}, err
}

// readOnce reads and translates what the flags or the settings select, and prints its problems.
func readOnce(
	cmd *cobra.Command, cfg *configuration, manifests *manifestsFlag, opts daemon.Options, log logrus.FieldLogger,
) (daemon.Read, error) {
	defer progress(cmd, "reading")()
	switch {
	case manifests.fromFiles():
		files, err := manifests.source(cmd)
		if err != nil {
			return daemon.Read{}, err
		}
		files.MaxFile = cfg.MaxManifestSize
		source, err := offline.Source(files, opts.Read)
		if err == nil {
			err = cmp.Or(manifests.declared(cmd, source), manifests.alone(cmd, source))
		}
		if err != nil {
			return daemon.Read{}, err
		}
		opts.Source = source
	case cfg.UpstreamCluster != "":
		disconnect, err := connectUpstream(cmd.Context(), cfg, &opts, log)
		if err != nil {
			return daemon.Read{}, err
		}
		defer disconnect()
	case opts.Manifests == "" && opts.Kubeconfig == "":
		opts.Kubeconfig = defaultKubeconfig()
	}
	read, err := daemon.ReadOnce(cmd.Context(), opts, log)
	for _, p := range read.Problems {
		cmd.PrintErrln("problem:", p)
	}
	return read, err
}

// checkTarget returns an error if the settings for a database are incomplete.
func checkTarget(cfg *configuration) error {
	for _, flag := range cfg.target.Embedded() {
		return fmt.Errorf("%s: expected an address, or two states with -f and --with, or with --from and --to", flag)
	}
	return nil
}

// quietLog is the log of a command that prints an answer: the progress messages of a daemon would clutter it.
func quietLog(cmd *cobra.Command, cfg *configuration) *logrus.Logger {
	if cfg.Origin("log-level").Kind == config.FromDefault {
		cfg.LogLevel = logrus.WarnLevel
	}
	return newLog(cmd, cfg.Config)
}

func planBetween(cmd *cobra.Command, cfg *configuration, states *statesFlag) (*planReport, error) {
	states.manifests.node = cfg.ZoneNode
	before, after, err := states.load(cmd)
	if err != nil {
		return nil, err
	}
	printReading(cmd, &after)
	if cmd.Flags().Changed("namespace") {
		cmd.PrintErrf("note: the plan is for all namespaces; -n %s is that of names without one\n", states.manifests.namespace)
	}
	settings := optionsOf(cfg).Target
	settings.Log = quietLog(cmd, cfg)
	defer progress(cmd, "planning")()
	plan, err := daemon.PlanBetween(cmd.Context(), settings, before, after)
	if err != nil {
		return nil, err
	}
	hideMadeUp(plan, &before, &after)
	was, err := costIn(cfg, before.Snapshot)
	now, err2 := costIn(cfg, after.Snapshot)
	return &planReport{Plan: plan, Cost: now, Before: was, doubt: certain(&before, &after)}, errors.Join(err, err2)
}

// costIn estimates the cost in the data plane of the target, if it is one of OVN.
func costIn(cfg *configuration, s *intent.Snapshot) (*cost, error) {
	if cfg.target.Tungsten.Configured() {
		return nil, nil //nolint:nilnil // nil is no cost
	}
	c, err := costOf(s)
	return &c, err
}

// hideMadeUp removes made-up addresses from the values of a plan between states.
func hideMadeUp(p *backends.Plan, states ...*world.State) {
	shown := func(text string) string {
		for _, s := range states {
			text = s.Shown(text)
		}
		return text
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		op.Name, op.Origin = shown(op.Name), shown(op.Origin)
		for _, fields := range []backends.Fields{op.Before, op.After} {
			for name, value := range fields {
				fields[name] = shownValue(value, shown)
			}
		}
	}
}

// shownValue applies a function to the texts of a value.
func shownValue(value any, shown func(string) string) any {
	switch v := value.(type) {
	case string:
		return shown(v)
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = shown(v[i])
		}
		return out
	case map[string]string:
		out := make(map[string]string, len(v))
		for k, text := range v {
			out[shown(k)] = shown(text)
		}
		return out
	default:
		return v
	}
}

// costOf estimates for OVN 23.03; newer versions differ little.
func costOf(s *intent.Snapshot) (cost, error) {
	explainer, err := builtin.NewExplainer(builtin.OVN, defaultOwner, defaultRate)
	if err != nil {
		return cost{}, err
	}
	e := explainer.Estimate(s)
	return cost{e.ACLs, e.Flows}, nil
}

func (r *planReport) print(cmd *cobra.Command, form string) error {
	out := cmd.OutOrStdout()
	var err error
	if form != "table" {
		err = printData(out, form, "PlanReport", r)
	} else if err = r.Plan.Write(out, bool(paletteFor(out))); err == nil && r.Cost != nil {
		_, err = fmt.Fprintln(out, r.costText())
	}
	return worst(err, r.doubt, verdictOfPlan(r.Plan))
}

// verdictOfPlan is the error for a plan: that it has something to write.
func verdictOfPlan(p *backends.Plan) error {
	if p.Empty() {
		return nil
	}
	return differs()
}

// doubtOf is the error for an answer about objects with problems; nil if there are none.
func doubtOf(problems []object.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return cannotTell("%s", counted(len(problems), "problem"))
}

// costText formats the cost: the node with the highest one, and what changes there.
func (r *planReport) costText() string {
	nodes := slices.SortedFunc(maps.Keys(r.Cost.Flows), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Cost.Flows[b], r.Cost.Flows[a]), cmp.Compare(a, b))
	})
	text := "cost: " + counted(r.Cost.ACLs, "ACL")
	if r.Before != nil {
		text += fmt.Sprintf(" (%+d)", r.Cost.ACLs-r.Before.ACLs)
	}
	if len(nodes) == 0 {
		return text + ", no flows"
	}
	most := nodes[0]
	text += fmt.Sprintf(", about %d flows", r.Cost.Flows[most])
	if r.Before != nil {
		text += fmt.Sprintf(" (%+d)", r.Cost.Flows[most]-r.Before.Flows[most])
	}
	if most == "" {
		most = "an unnamed node"
	}
	text += " on " + most
	if len(nodes) > 1 {
		text += ", fewer on the others"
	}
	return text
}
